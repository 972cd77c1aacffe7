//! A seeded synthetic population, written as any payer would send it.
