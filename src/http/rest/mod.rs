//! The consent REST API: what an application may know of the consents that its patients gave.
//!
//! A token sees the consents of its application and mode, a patient token its own; any other looks as if it did not
//! exist.

mod consent;
mod cursor;
mod described;
mod list;
mod shown;

use super::routes::Route;

pub(super) fn routes() -> Vec<Route> {
    [consent::routes(), list::routes()].into_iter().flatten().collect()
}
