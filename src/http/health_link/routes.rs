//! The routes of health links: for patients, and for recipients.

use super::{create, described, file, manage, page, resolve};
use crate::http::routes::Route;

/// Returns the routes for patients, who create, list and revoke links.
pub(in crate::http) fn patient_routes() -> Vec<Route> {
    vec![
        Route::at("/rest/health-links")
            .get(manage::list, described::list())
            .post(create::create, described::create()),
        Route::at("/rest/health-links/{id}").delete(manage::revoke, described::revoke()),
    ]
}

/// Returns the routes for recipients, who open links.
pub(in crate::http) fn recipient_routes() -> Vec<Route> {
    vec![
        Route::at("/health-links/{address}")
            .get(resolve::direct, described::direct())
            .post(resolve::manifest, described::manifest())
            .callable_anywhere(),
        Route::at("/health-links/{address}/file/{ticket}")
            .get(file::located, described::located())
            .callable_anywhere(),
        Route::at("/health-link").get(page::page, described::page()),
        Route::at("/health-link/{name}").also_get(page::asset),
    ]
}
