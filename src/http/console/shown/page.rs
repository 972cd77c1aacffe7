//! Renders a page as a response that caches never keep. Its headers limit what it may load.

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

/// Allows our own style sheet and pictures, and forms to this server. It forbids scripts and frames.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The frame of a page.
#[derive(Clone, Debug, Default)]
pub(in crate::http::console) struct Frame {
    /// The path of the console.
    pub(in crate::http::console) root: String,
    /// The operator who is signed in. Empty before sign-in.
    pub(in crate::http::console) name: String,
    /// The CSRF token for forms.
    pub(in crate::http::console) csrf: String,
    /// The active entry of the menu.
    pub(in crate::http::console) here: &'static str,
    /// The tenant of the menu's links.
    pub(in crate::http::console) place: Tenant,
}

impl Frame {
    /// The frame of a page without a session.
    pub(in crate::http::console) fn outside(service: &Service) -> Frame {
        Frame {
            root: address(service, ""),
            ..Frame::default()
        }
    }

    /// The `aria-current` attribute of a menu entry.
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

/// The address of a page of the console.
pub(in crate::http::console) fn address(service: &Service, path: &str) -> String {
    format!("{}/console{path}", service.base_path())
}

/// A rendered page.
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

/// Marks a response as private to this browser.
pub(in crate::http::console) fn private(response: &mut Response) {
    let head = response.headers_mut();
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.insert(VARY, HeaderValue::from_static("Cookie"));
    head.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    head.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    head.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    head.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
}

/// Redirects to another page, by GET.
pub(in crate::http::console) fn see_other(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return Error::internal("an address to redirect to is no header text").into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    private(&mut response);
    response
}

/// A page that states the failure.
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

/// The page of an error. Internal details go to the log.
pub(in crate::http::console) fn failed(frame: &Frame, error: Error) -> Response {
    let mut response = problem(frame, error.status(), &error.to_string());
    if let Some(cause) = error.cause() {
        response.extensions_mut().insert(cause);
    }
    response
}

/// The page that the work returns, or the page of its error.
pub(in crate::http::console) async fn page_or_error(
    frame: &Frame,
    work: impl Future<Output = Result<Response, Error>>,
) -> Response {
    match work.await {
        Ok(response) => response,
        Err(error) => failed(frame, error),
    }
}
