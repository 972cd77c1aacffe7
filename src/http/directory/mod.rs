//! Public routes: the organizations and endpoints, and applying for access.

mod application;
mod listing;

use super::routes::Route;

pub(super) fn routes() -> Vec<Route> {
    [listing::routes(), application::routes()]
        .into_iter()
        .flatten()
        .collect()
}
