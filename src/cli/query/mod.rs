//! Commands that read records: searches, views, SQL, expressions, and a patient's whole record.

pub(super) mod definition;
pub(super) mod everything;
pub(super) mod fhirpath;
pub(super) mod inline;
pub(super) mod pdf;
pub(super) mod record;
pub(super) mod resource_types;
pub(super) mod run;
pub(super) mod run_plan;
pub(super) mod search;
pub(super) mod show;
pub(super) mod sql;
pub(super) mod summary;
pub(super) mod validate_view;
