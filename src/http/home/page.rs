//! The style sheet, the script and the Content-Security-Policy of the pages `/` and `/docs`.

use std::sync::LazyLock;

use askama::Template;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::http::error::Error;

/// The style sheet. It is inlined into both pages, so that they need no other file.
pub(super) const STYLE: &str = include_str!("../../../templates/home/style.css");

/// The script. It is inlined into `/docs` unchanged, because the policy has its digest.
pub(super) const SCRIPT: &str = include_str!("../../../templates/home/docs.js");

/// The Content-Security-Policy. It allows the style sheet and the script by their digests. It also allows requests to
/// this service, forms that are sent to it, and images from it, such as the icon.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text));
    let (style, script) = (digest(STYLE), digest(SCRIPT));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; connect-src 'self'; \
         img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    );
    HeaderValue::from_str(&policy).ok()
});

/// Renders a template as an HTML response with the policy.
pub(super) fn page(template: &impl Template) -> Result<Response, Error> {
    let text = template.render().map_err(Error::internal)?;
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response();
    if let Some(policy) = POLICY.clone() {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}
