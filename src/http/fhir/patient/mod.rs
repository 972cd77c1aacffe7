//! Operations on all of a patient's records, under `/fhir/Patient/[id]/`: one file per operation. The room `patient`
//! decides their content. This folder decides who may call them and the form of the answer.

mod away;
pub(in crate::http) mod card;
pub(in crate::http) mod everything;
mod expunge;
pub(in crate::http) mod pdf;
mod sent;
mod sources;
mod streamed;
mod subject;
pub(in crate::http) mod summary;
mod wanted;

pub(crate) use sources::source_of_patient;
pub(in crate::http) use summary::summary_of;

use super::super::routes::Route;

/// The operations that the CapabilityStatement names, with the addresses of their definitions.
pub(in crate::http) const OPERATIONS: [(&str, &str); 2] = [everything::DECLARED, summary::DECLARED];

/// The routes of all operations.
pub(in crate::http) fn routes() -> Vec<Route> {
    [
        everything::routes(),
        pdf::routes(),
        summary::routes(),
        card::routes(),
        expunge::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
