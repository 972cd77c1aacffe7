//! The directory: applications, organizations and their endpoints, identity providers.

pub(super) mod address;
pub(super) mod applicant;
pub(super) mod application;
pub(super) mod checked;
pub(super) mod dialect;
pub(super) mod endpoint;
pub(super) mod endpoint_search;
pub(super) mod find;
pub(super) mod identity;
pub(super) mod organization;
pub(super) mod profile;
