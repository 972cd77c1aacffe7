//! The routes of the console. They are for browsers, and no part of the API that `/openapi.json` describes.

use super::pages::{resource, stored, table};
use super::session::sign_in;
use super::shown::asset;
use crate::http::routes::Route;

/// All of them. Each but signing in and the style sheet takes an operator.
pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::at("/console").also_get(stored::show),
        Route::at("/console/sign-in")
            .also_get(sign_in::show)
            .also_post(sign_in::enter),
        Route::at("/console/sign-out").also_post(sign_in::leave),
        Route::at("/console/assets/{name}").also_get(asset::asset),
        Route::at("/console/data/{mode}/{application}/{type}").also_get(table::show),
        Route::at("/console/data/{mode}/{application}/{type}/{id}").also_get(resource::show),
    ]
}
