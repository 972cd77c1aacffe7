//! Operations on all of a patient's records, under `/fhir/Patient/[id]/`. The module `patient` of the crate decides
//! their content. This folder decides who may call them, and builds the responses.

mod away;
pub(in crate::http) mod card;
pub(in crate::http) mod everything;
mod expunge;
pub(in crate::http) mod pdf;
mod routes;
mod sent;
mod sources;
mod streamed;
mod subject;
pub(in crate::http) mod summary;
mod wanted;

pub(in crate::http) use routes::{OPERATIONS, routes};
pub(crate) use sources::source_of_patient;
pub(in crate::http) use summary::summary_of;
