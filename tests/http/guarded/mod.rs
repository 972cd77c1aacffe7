//! Bounds for clients, and what browsers are told.

pub(super) mod crowds;
pub(super) mod documents;
pub(super) mod protection;
pub(super) mod searches;
pub(super) mod throttle;
