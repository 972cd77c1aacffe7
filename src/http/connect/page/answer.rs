//! Renders a page as a response that caches must not store. Its headers limit what the page loads, where its forms
//! lead, and which pages may frame it.

use askama::Template;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY, SET_COOKIE, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use super::super::flow::redirect_uri::policy_source;
use crate::http::error::Error;

const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// What the headers of a page allow in addition to the defaults.
#[derive(Clone, Debug, Default)]
pub(in crate::http::connect) struct Policy {
    /// The CSP source expressions (origins or schemes) to which the page's forms may lead, besides this service and
    /// `https:`. If a form is answered with a redirect, the browser checks the redirect against them, too.
    leads: Vec<String>,
    /// The origins whose pages may frame this page. If empty, no page may.
    framed_by: Vec<String>,
}

impl Policy {
    /// Allows the page's forms to lead to this URL.
    pub(in crate::http::connect) fn leads_to(mut self, address: &str) -> Policy {
        // The policy allows all `https:` URLs, because sources and applications redirect to URLs that are not known
        // here. So add only other URLs.
        if let Some(source) = policy_source(address).filter(|source| !source.starts_with("https://")) {
            self.leads.push(source);
        }
        self
    }

    /// Allows pages of these origins to frame the page.
    pub(in crate::http::connect) fn framed_by(mut self, origins: &[String]) -> Policy {
        self.framed_by = origins.to_vec();
        self
    }

    fn text(&self) -> String {
        let ancestors = if self.framed_by.is_empty() {
            "'none'".to_owned()
        } else {
            self.framed_by.join(" ")
        };
        let leads = self.leads.join(" ");
        format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
             form-action 'self' https: {leads}; frame-ancestors {ancestors}"
        )
    }
}

/// Renders a page.
pub(in crate::http::connect) fn page(status: StatusCode, template: &impl Template, policy: &Policy) -> Response {
    let text = match template.render() {
        Ok(text) => text,
        Err(error) => return Error::internal(error).into_response(),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    head.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.insert(VARY, HeaderValue::from_static("Accept-Language, Cookie"));
    head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With this policy a browser sends the Referer only to the same origin.
    head.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    head.insert(
        PERMISSIONS_POLICY,
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=()"),
    );
    if policy.framed_by.is_empty() {
        head.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    match HeaderValue::from_str(&policy.text()) {
        Ok(policy) => head.insert(CONTENT_SECURITY_POLICY, policy),
        // This does not occur: an origin that is not valid in a header cannot be registered.
        Err(error) => return Error::internal(error).into_response(),
    };
    response
}

/// Returns a redirect with status 303, which the browser follows by GET.
pub(in crate::http::connect) fn see_other(address: &str) -> Response {
    let Ok(location) = HeaderValue::from_str(address) else {
        return Error::internal("an address to redirect to is no header text").into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(LOCATION, location);
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
        .headers_mut()
        .insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Adds the header that sets a cookie to a response.
pub(in crate::http::connect) fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Adds the cause of an internal error to a response, for the log.
pub(in crate::http::connect) fn because(mut response: Response, error: &Error) -> Response {
    if let Some(cause) = error.cause() {
        response.extensions_mut().insert(cause);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_names_what_is_beyond_tls() {
        let policy = Policy::default()
            .leads_to("https://app.example/cb")
            .leads_to("com.example.app:/cb")
            .leads_to("http://127.0.0.1:5000/cb");
        let text = policy.text();
        assert!(
            text.contains("form-action 'self' https: com.example.app: http://127.0.0.1:5000;"),
            "{text}"
        );
        assert!(text.ends_with("frame-ancestors 'none'"), "{text}");
        let framed = Policy::default().framed_by(&["https://a.example".to_owned()]).text();
        assert!(framed.ends_with("frame-ancestors https://a.example"), "{framed}");
    }
}
