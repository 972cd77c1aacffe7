//! Lets the scripts of any page read an answer (the Fetch standard's CORS). For public documents: it requests no
//! credential and permits none.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Answers preflight requests of browsers.
pub(super) async fn preflight() -> Response {
    permitted("GET, HEAD, OPTIONS")
}

/// The same for routes that also have POST.
pub(super) async fn preflight_to_call() -> Response {
    permitted("GET, HEAD, POST, OPTIONS")
}

fn permitted(methods: &'static str) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, methods),
        (ACCESS_CONTROL_ALLOW_HEADERS, "*"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Marks an answer as readable for scripts.
pub(in crate::http) fn allow(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("X-Request-Id, Retry-After"),
    );
}
