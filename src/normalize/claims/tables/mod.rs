//! The meaning of codes of bills, places and plans.

pub(super) mod bill_type;
pub(super) mod place_of_service;
pub(super) mod plan_table;
pub(super) mod revenue;
