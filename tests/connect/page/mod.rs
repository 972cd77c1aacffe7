//! The pages that a patient sees.

pub(super) mod born;
pub(super) mod brand;
pub(super) mod common;
pub(super) mod languages;
pub(super) mod left;
pub(super) mod nowhere;
pub(super) mod pseudo;
pub(super) mod stay;
pub(super) mod usage;
