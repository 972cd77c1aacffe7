//! The ways of patients through the flow.

pub(super) mod dialects;
pub(super) mod facilities;
pub(super) mod find;
pub(super) mod identity;
pub(super) mod one;
pub(super) mod portal;
pub(super) mod several;
pub(super) mod sources;
