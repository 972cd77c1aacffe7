//! The console: who is let in, what each page shows, and what the audit log has of it.

mod doors;
mod kept;
mod pages;
mod views;
mod world;
