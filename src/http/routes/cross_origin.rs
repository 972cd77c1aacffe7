//! Lets scripts of any web page read a response (CORS, in the Fetch standard). This is for public routes: requests with
//! credentials are not permitted.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Answers browsers' preflight requests for routes with GET only.
pub(super) async fn preflight() -> Response {
    permitted("GET, HEAD, OPTIONS")
}

/// Answers browsers' preflight requests for routes that also have POST.
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

/// Adds the headers that let scripts of any web page read the response.
pub(in crate::http) fn allow(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("X-Request-Id, Retry-After"),
    );
}
