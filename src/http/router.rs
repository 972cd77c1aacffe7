//! Which handler answers which route. What stands under `/fhir` and is not listed is `not-supported`, for token holders.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any, get, post};

use super::auth::Caller;
use super::error::Error;
use super::frame::frame;
use super::service::Service;
use super::{capability, openapi, read, search, view_run, view_validate};

/// All routes, within the frame.
pub(super) fn router(service: Arc<Service>) -> Router {
    let run = || post(view_run::by_post).fallback(view_run::other_method);
    // What SQL on FHIR calls it may be asked for by GET.
    let alias = || run().get(view_run::by_get);
    let router = Router::new()
        .route("/openapi.json", get(openapi::document))
        .route("/fhir/metadata", get(capability::metadata))
        .operation("/fhir/ViewDefinition/$run", run)
        .operation("/fhir/ViewDefinition/$viewdefinition-run", alias)
        .operation("/fhir/$viewdefinition-run", alias)
        .operation("/fhir/$sql-run", alias)
        .operation("/fhir/ViewDefinition/$validate", || {
            post(view_validate::by_post).fallback(view_run::other_method)
        })
        .operation("/fhir/ViewDefinition/{id}/$validate", || any(view_run::instance))
        .operation("/fhir/ViewDefinition/{id}/$run", || any(view_run::instance))
        .operation("/fhir/ViewDefinition/{id}/$viewdefinition-run", || {
            any(view_run::instance)
        });
    router
        .route("/fhir", get(search::system_by_get))
        .route("/fhir/", get(search::system_by_get))
        .route("/fhir/_search", post(search::system_by_post))
        .route("/fhir/{type}", get(search::by_get))
        .route("/fhir/{type}/_search", post(search::by_post))
        .route("/fhir/Patient/{id}/{type}", get(search::compartment_by_get))
        .route("/fhir/Patient/{id}/{type}/_search", post(search::compartment_by_post))
        .route("/fhir/{type}/{id}", get(read::read))
        .fallback(nowhere)
        .method_not_allowed_fallback(unsupported)
        .layer(from_fn_with_state(service.clone(), frame))
        .with_state(service)
}

trait Operations {
    /// A route whose last part begins with a dollar sign. Paths are matched as they were sent, and a client may or may not encode
    /// it.
    fn operation(self, path: &str, methods: impl Fn() -> MethodRouter<Arc<Service>>) -> Self;
}

impl Operations for Router<Arc<Service>> {
    fn operation(self, path: &str, methods: impl Fn() -> MethodRouter<Arc<Service>>) -> Self {
        self.route(path, methods()).route(&path.replace('$', "%24"), methods())
    }
}

/// A path that is served, by a method that it is not served by.
async fn unsupported(_: Caller, request: Request) -> Error {
    Error::NotSupported(format!("{} is not supported here", request.method()))
}

/// A path that nothing is at.
async fn nowhere(State(service): State<Arc<Service>>, request: Request) -> Result<Response, Error> {
    let (mut parts, _) = request.into_parts();
    let path = parts.uri.path();
    if path == "/fhir" || path.starts_with("/fhir/") {
        Caller::from_request_parts(&mut parts, &service).await?;
        return Err(Error::NotSupported(format!("{} is not supported here", parts.method)));
    }
    let body = r#"{"message":"there is nothing here; the FHIR API is under /fhir"}"#;
    Ok((StatusCode::NOT_FOUND, [(CONTENT_TYPE, "application/json")], body).into_response())
}
