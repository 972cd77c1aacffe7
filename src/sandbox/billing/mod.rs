//! Billing: coverage and claims.

pub(super) mod adjudication;
pub(super) mod claims;
pub(super) mod coverage;
pub(super) mod pharmacy;
