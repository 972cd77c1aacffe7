//! Renders a page as a response that caches must not store. Its headers limit what the page may load.

use askama::Template;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, VARY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::tenant::Tenant;
use crate::http::error::Error;
use crate::http::service::Service;

/// The Content-Security-Policy. It allows style sheets and images of this server, and forms to it. It forbids scripts
/// and frames.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The data that all pages of the console share.
#[derive(Clone, Debug, Default)]
pub(in crate::http::console) struct Frame {
    /// The URL path of the console.
    pub(in crate::http::console) root: String,
    /// The name of the operator. Empty before sign-in.
    pub(in crate::http::console) name: String,
    /// The CSRF token for forms.
    pub(in crate::http::console) csrf: String,
    /// The active entry of the menu.
    pub(in crate::http::console) here: &'static str,
    /// The tenant to which the menu's links lead.
    pub(in crate::http::console) place: Tenant,
}

impl Frame {
    /// Returns the data of a page without a session.
    pub(in crate::http::console) fn outside(service: &Service) -> Frame {
        Frame {
            root: address(service, ""),
            ..Frame::default()
        }
    }

    /// Returns the attribute `aria-current` for a menu entry, if it is the active one.
    pub(in crate::http::console) fn at(&self, entry: &str) -> &'static str {
        if self.here == entry {
            r#" aria-current="page""#
        } else {
            ""
        }
    }
}

#[derive(Template)]
#[template(path = "console/problem.html")]
struct Problem<'a> {
    frame: &'a Frame,
    status: u16,
    heading: &'static str,
    problem: &'a str,
}

/// Returns the URL path of a page of the console.
pub(in crate::http::console) fn address(service: &Service, path: &str) -> String {
    format!("{}/console{path}", service.base_path())
}

/// Renders a page.
pub(in crate::http::console) fn html(status: StatusCode, template: &impl Template) -> Response {
    let text = match template.render() {
        Ok(text) => text,
        Err(error) => return Error::internal(error).into_response(),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    head.insert(CONTENT_SECURITY_POLICY, POLICY);
    private(&mut response);
    response
}

/// Adds the headers that keep a response private: caches must not store it, and other sites' pages must not embed it.
pub(in crate::http::console) fn private(response: &mut Response) {
    let head = response.headers_mut();
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.insert(VARY, HeaderValue::from_static("Cookie"));
    head.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    head.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    head.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    head.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
}

/// Returns a redirect with status 303, which the browser follows by GET.
pub(in crate::http::console) fn see_other(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return Error::internal("an address to redirect to is no header text").into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    private(&mut response);
    response
}

/// Renders a page about a problem.
pub(in crate::http::console) fn problem(frame: &Frame, status: StatusCode, problem: &str) -> Response {
    let heading = match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => "There is nothing here",
        StatusCode::UNAUTHORIZED => "You are signed out",
        status if status.is_server_error() => "This did not work",
        _ => "This cannot be answered",
    };
    let page = Problem {
        frame,
        status: status.as_u16(),
        heading,
        problem,
    };
    html(status, &page)
}

/// Renders a page about an error. The cause of an internal error only goes to the log.
pub(in crate::http::console) fn failed(frame: &Frame, error: Error) -> Response {
    let mut response = problem(frame, error.status(), &error.to_string());
    if let Some(cause) = error.cause() {
        response.extensions_mut().insert(cause);
    }
    response
}

/// Returns the page that the work builds, or a page about its error.
pub(in crate::http::console) async fn page_or_error(
    frame: &Frame,
    work: impl Future<Output = Result<Response, Error>>,
) -> Response {
    match work.await {
        Ok(response) => response,
        Err(error) => failed(frame, error),
    }
}
