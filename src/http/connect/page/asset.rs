//! Serves style sheets, scripts and logos of the pages.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::flow::session::visit::stored;
use crate::consent::{Logo, LogoOf};
use crate::http::error::Error;
use crate::http::service::Service;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const MARK: &str = include_str!("../../../../templates/connect/assets/mark.svg");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Answers `GET /connect/assets/{name}` with a built-in file.
pub(in crate::http::connect) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Error> {
    let (media, body) = match name.as_str() {
        "connect.css" => (CSS, include_str!("../../../../templates/connect/assets/connect.css")),
        "connect.js" => (JS, include_str!("../../../../templates/connect/assets/connect.js")),
        "link-end.js" => (JS, include_str!("../../../../templates/connect/assets/link-end.js")),
        "mark.svg" => (SVG, MARK),
        _ => return Err(Error::NoFile),
    };
    Ok(file(
        &headers,
        media,
        body.as_bytes(),
        "same-origin",
        "public, max-age=300",
    ))
}

/// Answers `GET /connect/brand.css` with the operator's colours. The style sheet is empty if there are none.
pub(in crate::http::connect) async fn brand_style(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    let css = service.pages.branding.css.as_deref().unwrap_or_default();
    file(&headers, CSS, css.as_bytes(), "same-origin", "public, max-age=300")
}

/// Answers `GET /connect/brand/logo` with the operator's logo.
pub(in crate::http::connect) async fn brand_logo(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let logo = service.pages.branding.logo.as_ref().ok_or(Error::NoFile)?;
    Ok(picture(&headers, logo))
}

/// Answers `GET /favicon.ico` with the operator's logo, or else the service's own. Browsers go by the media type of the
/// response, not by the name in the URL.
pub(in crate::http::connect) async fn icon(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    match &service.pages.branding.logo {
        Some(logo) => picture(&headers, logo),
        None => file(&headers, SVG, MARK.as_bytes(), "same-origin", "public, max-age=300"),
    }
}

/// Answers `GET /connect/logo/application/{id}` with an application's logo.
pub(in crate::http::connect) async fn application_logo(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    logo(&service, LogoOf::Application, id, &headers).await
}

/// Answers `GET /connect/logo/organization/{id}` with an organization's logo.
pub(in crate::http::connect) async fn organization_logo(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    logo(&service, LogoOf::Organization, id, &headers).await
}

async fn logo(service: &Arc<Service>, of: LogoOf, id: String, headers: &HeaderMap) -> Result<Response, Error> {
    let found = stored(service, move |service| service.store.profiles().logo(of, &id)).await?;
    let logo = found.map_err(Error::internal)?.ok_or(Error::NoFile)?;
    Ok(picture(headers, &logo))
}

/// Serves an image that the operator, an application or an organization supplied. An SVG may contain scripts. The
/// header `Content-Security-Policy` prevents the browser from running them.
fn picture(headers: &HeaderMap, logo: &Logo) -> Response {
    let mut response = file(headers, &logo.media, &logo.bytes, "same-origin", "public, max-age=300");
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response
}

/// Answers `GET /link/v1/link.js` with the script of the link component, which applications load into their pages.
pub(in crate::http::connect) async fn link(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    let body = service.pages.languages.link();
    file(&headers, JS, body.as_bytes(), "cross-origin", "public, max-age=3600")
}

fn file(headers: &HeaderMap, media: &str, body: &[u8], readers: &'static str, cache: &'static str) -> Response {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, body);
    // The ETag is weak, because the response may be compressed.
    let tag = format!("W/\"{}\"", URL_SAFE_NO_PAD.encode(&digest.as_ref()[..12]));
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        body.to_owned().into_response()
    };
    let head = response.headers_mut();
    if let Ok(media) = HeaderValue::from_str(media) {
        head.insert(CONTENT_TYPE, media);
    }
    head.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    head.insert(RESOURCE_POLICY, HeaderValue::from_static(readers));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        head.insert(ETAG, tag);
    }
    response
}
