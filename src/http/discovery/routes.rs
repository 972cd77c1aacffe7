//! The routes of the discovery documents.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::{cards, described, documents, keys};
use crate::http::routes::{Operation, Route};
use crate::http::service::Service;

const JSON: &str = "application/json";
/// Clients may cache a document for 300 seconds. Not longer, because keys may be rotated.
const KEPT: &str = "public, max-age=300";

/// Returns the routes of the discovery documents.
pub(in crate::http) fn routes() -> Vec<Route> {
    let described = |id, summary, schema: &Value| Operation::new(id, summary).open().answers(&[JSON], schema);
    let smart = "SMART App Launch: where to authorize, and what is supported";
    let routes = [
        Route::at("/.well-known/oauth-authorization-server").get(
            authorization_server,
            described(
                "authorizationServer",
                "The authorization server's metadata (RFC 8414)",
                &described::authorization_server(),
            ),
        ),
        Route::at("/.well-known/openid-configuration").get(
            openid_configuration,
            described(
                "openidConfiguration",
                "The authorization server's metadata, for OpenID Connect discovery",
                &described::openid(),
            ),
        ),
        Route::at("/.well-known/smart-configuration").get(
            smart_configuration,
            described("smartConfiguration", smart, &described::smart()),
        ),
        Route::at("/fhir/.well-known/smart-configuration").get(
            smart_configuration,
            described(
                "fhirSmartConfiguration",
                "The SMART configuration, where FHIR clients look for it",
                &described::smart(),
            ),
        ),
        Route::at("/.well-known/jwks.json").get(
            jwks,
            described(
                "jwks",
                "The keys that verify access tokens (RFC 7517)",
                &described::keys(),
            ),
        ),
    ];
    let routes = routes.into_iter().chain(cards::routes());
    routes.map(Route::readable_anywhere).collect()
}

async fn authorization_server(State(service): State<Arc<Service>>) -> Response {
    answer(&documents::authorization_server(&service.base_url))
}

async fn openid_configuration(State(service): State<Arc<Service>>) -> Response {
    answer(&documents::openid(&service.base_url))
}

async fn smart_configuration(State(service): State<Arc<Service>>) -> Response {
    answer(&documents::smart(&service.base_url))
}

async fn jwks(State(service): State<Arc<Service>>) -> Response {
    answer(&keys::key_set(&service.store))
}

fn answer(document: &Value) -> Response {
    ([(CONTENT_TYPE, JSON), (CACHE_CONTROL, KEPT)], document.to_string()).into_response()
}
