//! The routes of the operations, and the operations that the CapabilityStatement names.

use super::{card, everything, expunge, pdf, summary};
use crate::http::routes::Route;

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
