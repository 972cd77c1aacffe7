//! The routes of the console. They are for browsers, and `/openapi.json` does not describe them.

use super::pages::{document, explain, fhirpath, kept, patient, resource, stored, table, views};
use super::session::sign_in;
use super::shown::asset;
use crate::http::routes::Route;

/// Returns the paths of the console's routes. Tests open each of its pages.
pub fn console_paths() -> Vec<&'static str> {
    routes().iter().map(Route::path).collect()
}

/// Returns all routes of the console. Each needs an operator with a session, except sign-in and the assets.
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
        Route::at("/console/patient/{mode}/{application}/{id}").also_get(patient::show),
        Route::at("/console/patient/{mode}/{application}/{id}/{document}").also_get(document::show),
        Route::at("/console/views/{mode}/{application}")
            .also_get(views::open)
            .also_post(views::run),
        Route::at("/console/views/{mode}/{application}/rows").also_get(views::rows),
        Route::at("/console/fhirpath/{mode}/{application}").also_get(fhirpath::show),
        Route::at("/console/explain/{mode}/{application}").also_get(explain::show),
        Route::at("/console/kept/{list}").also_get(kept::show),
        Route::at("/console/kept/syncs/{id}").also_get(kept::sync),
        Route::at("/console/kept/consents/{id}").also_get(kept::consent),
        Route::at("/console/kept/erasures/{id}").also_get(kept::receipt),
        Route::at("/console/kept/deliveries/{id}/resend").also_post(kept::resend),
    ]
}
