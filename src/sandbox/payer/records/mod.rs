//! The records of an organization, and the FHIR API over them.

pub(super) mod additions;
pub(super) mod bundle;
pub(super) mod dialect;
pub(super) mod fhir;
pub(super) mod holding;
pub(super) mod metadata;
pub(super) mod pages;
pub(super) mod papers;
pub(super) mod row;
pub(super) mod shelf;
