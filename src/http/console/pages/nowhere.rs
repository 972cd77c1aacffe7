//! Shows that the console has no page at an address. Elsewhere, browsers get the page for patients.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;

use super::super::session::operator::Operator;
use super::super::shown::page::problem;
use crate::http::service::Service;

/// Answers a request below `/console` whose path does not exist, if the console is on. As for all pages, a request
/// without a session is led to sign-in. `None` for other paths.
pub(in crate::http) async fn nowhere(service: &Arc<Service>, parts: &mut Parts) -> Option<Response> {
    let below = parts.uri.path().strip_prefix("/console")?;
    if !service.console || !below.starts_with('/') {
        return None;
    }
    match Operator::from_request_parts(parts, service).await {
        Ok(operator) => {
            let frame = operator.frame(service, "", None);
            let said = "The console has no page at this address. The menu leads to its pages.";
            Some(problem(&frame, StatusCode::NOT_FOUND, said))
        }
        Err(led_on) => Some(led_on),
    }
}
