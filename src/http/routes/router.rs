//! Builds the router from the table of routes. For unknown paths, browsers get a page. Below `/console`, operators get
//! a page of the console. Under `/fhir`, callers with a valid token get `not-supported`.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::{Extension, Router};

use super::document::Document;
use super::openapi;
use super::refusals::Refusals;
use super::route::{Paths, Route};
use super::suggestion::meant_operation_of;
use super::table::table;
use crate::http::auth::Caller;
use crate::http::connect::nowhere;
use crate::http::console;
use crate::http::error::Error;
use crate::http::fhir::capability::Capability;
use crate::http::server::frame::frame;
use crate::http::service::Service;

/// Builds the router of all routes. Each request passes through the middleware `frame`.
pub(in crate::http) fn router(service: Arc<Service>) -> Router {
    let routes: Vec<Route> = table().into_iter().flat_map(|family| family.routes).collect();
    let paths = Arc::new(Paths::of(&routes));
    routes
        .into_iter()
        .fold(Router::new(), |router, route| route.enter(router))
        .fallback(not_found)
        .method_not_allowed_fallback(unsupported)
        .layer(from_fn_with_state((service.clone(), paths), frame))
        .layer(Extension(Arc::new(Document::new(openapi::described))))
        .layer(Extension(Arc::new(Capability::default())))
        .with_state(service)
}

/// Answers a request whose path exists but does not support the method.
async fn unsupported(State(service): State<Arc<Service>>, request: Request) -> Result<Response, Error> {
    let (mut parts, _) = request.into_parts();
    if Refusals::at(parts.uri.path()) == Refusals::Outcome {
        Caller::from_request_parts(&mut parts, &service).await?;
        return Err(nothing_like(&parts));
    }
    Err(Error::Method)
}

/// Returns the error for a path of the FHIR API that does not exist, or does not support the method.
fn nothing_like(parts: &Parts) -> Error {
    let meant = meant_operation_of(parts.uri.path());
    Error::NotSupported(format!("{} is not supported here{meant}", parts.method))
}

/// Answers a request whose path does not exist.
async fn not_found(State(service): State<Arc<Service>>, request: Request) -> Result<Response, Error> {
    let (mut parts, _) = request.into_parts();
    if Refusals::at(parts.uri.path()) == Refusals::Outcome {
        Caller::from_request_parts(&mut parts, &service).await?;
        return Err(nothing_like(&parts));
    }
    if let Some(page) = console::nowhere(&service, &mut parts).await {
        return Ok(page);
    }
    if let Some(page) = nowhere::page(&service, &parts.method, &parts.uri, &parts.headers) {
        return Ok(page);
    }
    Err(Error::Unknown(
        "there is nothing here; the FHIR API is under /fhir".to_owned(),
    ))
}
