//! What the two pages share: their style, and the policy that admits nothing else.

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

/// The style by its digest, and nothing else.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
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
