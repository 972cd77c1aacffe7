//! The pages of the console, one module for each.

pub(super) mod document;
pub(super) mod explain;
pub(super) mod fhirpath;
pub(super) mod kept;
pub(super) mod nowhere;
pub(super) mod patient;
pub(super) mod resource;
pub(super) mod stored;
pub(super) mod table;
pub(super) mod views;
