//! Builds responses: JSON, FHIR, pages, redirects, and errors.

use askama::Template;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};
use url::Url;

use crate::fhir::outcome::{Issue, IssueType, OperationOutcome};

/// The Content-Security-Policy of pages. Pages embed their style and load nothing. The policy has no `form-action`,
/// because a form ends with a redirect to the application. Browsers would apply `form-action` to this redirect, too.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Returns a response with a body.
pub(in crate::sandbox) fn body(status: StatusCode, content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, NO_STORE);
    response
}

/// Returns a response with JSON.
pub(in crate::sandbox) fn json(status: StatusCode, value: &Value) -> Response {
    body(status, "application/json", value.to_string())
}

/// Returns a response with a resource, or a Bundle, as FHIR JSON.
pub(in crate::sandbox) fn fhir(status: StatusCode, text: impl Into<Body>) -> Response {
    body(status, "application/fhir+json", text)
}

/// Returns a response with an OperationOutcome.
pub(in crate::sandbox) fn outcome(status: StatusCode, code: IssueType, text: impl Into<String>) -> Response {
    fhir(status, OperationOutcome::new(Issue::error(code, text)).to_json())
}

/// Returns the response to a request whose access token is missing or invalid. `came` is true if the request had an
/// `Authorization` header.
pub(in crate::sandbox) fn unauthorized(came: bool) -> Response {
    let text = if came {
        "the access token is unknown or expired"
    } else {
        "send an access token as Authorization: Bearer ..."
    };
    let mut response = outcome(StatusCode::UNAUTHORIZED, IssueType::Login, text);
    let challenge = if came {
        HeaderValue::from_static(r#"Bearer error="invalid_token""#)
    } else {
        HeaderValue::from_static("Bearer")
    };
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    response
}

/// Returns the error of a token endpoint as JSON (RFC 6749, section 5.2).
pub(in crate::sandbox) fn oauth(status: StatusCode, error: &str, description: impl std::fmt::Display) -> Response {
    json(
        status,
        &json!({"error": error, "error_description": description.to_string()}),
    )
}

/// Returns a response with a page as HTML. If the page cannot be written, returns an error as plain text.
pub(in crate::sandbox) fn page(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => {
            let mut response = body(status, "text/html; charset=utf-8", text);
            let headers = response.headers_mut();
            headers.insert(CONTENT_SECURITY_POLICY, POLICY);
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            response
        }
        Err(error) => body(
            StatusCode::INTERNAL_SERVER_ERROR,
            "text/plain; charset=utf-8",
            format!("the page cannot be shown: {error}"),
        ),
    }
}

/// Returns a redirect with status 303, which the browser follows by GET.
pub(in crate::sandbox) fn see_other(location: &str) -> Response {
    let mut response = Response::new(Body::empty());
    match HeaderValue::from_str(location) {
        Ok(location) => {
            *response.status_mut() = StatusCode::SEE_OTHER;
            response.headers_mut().insert(LOCATION, location);
            response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
            response
        }
        Err(_) => body(
            StatusCode::BAD_REQUEST,
            "text/plain; charset=utf-8",
            "no address to go to",
        ),
    }
}

/// Redirects to an application's redirect URI, and adds these parameters to its query.
pub(in crate::sandbox) fn back(redirect_uri: &str, parameters: &[(&str, &str)]) -> Response {
    match Url::parse(redirect_uri) {
        Ok(mut url) => {
            url.query_pairs_mut().extend_pairs(parameters);
            see_other(url.as_str())
        }
        Err(_) => see_other("/"),
    }
}
