//! `GET /health-link`: the page that opens a link in a browser. The link is in the URL's fragment, which browsers do
//! not send to the server. The page's script fetches the file and decrypts it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};

use crate::consent::PASSCODE_ATTEMPTS;
use crate::http::connect::language::{self, Texts};
use crate::http::connect::nowhere;
use crate::http::error::Error;
use crate::http::service::Service;

/// Content-Security-Policy: no inline code, nothing from other origins, no forms, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

#[derive(Template)]
#[template(path = "health-link/page.html")]
struct Page<'a> {
    t: &'static Texts,
    languages: &'a [&'static Texts],
    /// The texts that the script shows, as JSON.
    texts: String,
}

pub(super) async fn page(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    // A request that switches the language gets a redirect. The browser keeps the URL's fragment on a redirect, and so
    // the link.
    let address = format!("{}/health-link", service.base_path());
    if let Some(response) = language::switched(&service, query.as_deref(), &address, false) {
        return Ok(response);
    }
    let t = language::of(&service, &headers);
    let page = Page {
        t,
        languages: service.pages.languages.all(),
        texts: serde_json::to_string(&t.of_script("viewer_", 1..=PASSCODE_ATTEMPTS as usize))
            .map_err(Error::internal)?,
    };
    let text = page.render().map_err(Error::internal)?;
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    Ok((headers, text).into_response())
}

/// Returns a style sheet or a script of the page. For another name, a browser gets a page, because patients may open a
/// damaged link.
pub(super) async fn asset(
    State(service): State<Arc<Service>>,
    Path(name): Path<String>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let (media, body) = match name.as_str() {
        "viewer.css" => (
            "text/css; charset=utf-8",
            include_str!("../../../templates/health-link/viewer.css"),
        ),
        "viewer.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../../templates/health-link/viewer.js"),
        ),
        "bytes.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../../templates/health-link/bytes.js"),
        ),
        "card.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../../templates/health-link/card.js"),
        ),
        "texts.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../../templates/health-link/texts.js"),
        ),
        "narrative.js" => (
            "text/javascript; charset=utf-8",
            include_str!("../../../templates/health-link/narrative.js"),
        ),
        _ => return nowhere::page(&service, &method, &uri, &headers).ok_or(Error::NoFile),
    };
    let headers = [
        (CONTENT_TYPE, media),
        (CACHE_CONTROL, "public, max-age=300"),
        (RESOURCE_POLICY, "same-origin"),
    ];
    Ok((headers, body).into_response())
}
