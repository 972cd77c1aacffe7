//! The common parts of both pages: their style and script, and the policy that admits nothing else.

use std::sync::LazyLock;

use askama::Template;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::http::error::Error;

/// Inlined into the pages, so that they need no other file.
pub(super) const STYLE: &str = include_str!("../../../templates/home/style.css");

/// `/docs` contains it unchanged.
pub(super) const SCRIPT: &str = include_str!("../../../templates/home/docs.js");

/// The policy: the style and the script by their digests, calls of this service, its own form and its icon.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; connect-src 'self'; \
         img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    );
    HeaderValue::from_str(&policy).ok()
});

/// A template as a page.
pub(super) fn page(template: &impl Template) -> Result<Response, Error> {
    let text = template.render().map_err(Error::internal)?;
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    if let Some(policy) = POLICY.clone() {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}
