//! The routes of the consent REST API.

use super::{consent, list, revoke};
use crate::http::routes::Route;

pub(in crate::http) fn routes() -> Vec<Route> {
    [consent::routes(), revoke::routes(), list::routes()]
        .into_iter()
        .flatten()
        .collect()
}
