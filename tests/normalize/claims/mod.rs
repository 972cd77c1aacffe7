//! Resources made from claims.

pub(super) mod conditions;
pub(super) mod dialects;
pub(super) mod encounters;
pub(super) mod insurance_plans;
pub(super) mod prescriptions;
pub(super) mod procedures;
