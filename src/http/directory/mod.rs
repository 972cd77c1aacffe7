//! What anybody may ask: which organizations and endpoints there are, and to apply for access.

mod application;
mod listing;

use super::routes::Route;

pub(super) fn routes() -> Vec<Route> {
    [listing::routes(), application::routes()]
        .into_iter()
        .flatten()
        .collect()
}
