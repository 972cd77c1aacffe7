//! The FHIR API.

pub(super) mod binary;
pub(super) mod capability;
pub(super) mod conditional;
pub(super) mod explain;
pub(super) mod negotiate;
pub(super) mod parameters;
pub(super) mod patient;
pub(super) mod patient_wildcard;
pub(super) mod range;
pub(super) mod read;
pub(super) mod resource_type;
pub(super) mod search;
mod signed;
pub(super) mod view;
