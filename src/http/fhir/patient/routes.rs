//! The routes of the operations on all of a patient's records.

use super::{card, everything, expunge, pdf, summary};
use crate::http::routes::Route;

/// The operations in the CapabilityStatement, with the URLs of their definitions.
pub(in crate::http) const OPERATIONS: [(&str, &str); 2] = [everything::DECLARED, summary::DECLARED];

/// Returns the routes of all these operations.
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
