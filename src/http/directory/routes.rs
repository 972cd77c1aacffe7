//! The routes of the directory.

use super::{application, listing};
use crate::http::routes::Route;

pub(in crate::http) fn routes() -> Vec<Route> {
    [listing::routes(), application::routes()]
        .into_iter()
        .flatten()
        .collect()
}
