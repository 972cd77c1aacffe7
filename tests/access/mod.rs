//! Isolation between patients: each door tries to reach the data of another patient.

pub(super) mod isolation;
pub(super) mod owners;
pub(super) mod tokens;
