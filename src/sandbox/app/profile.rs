//! The application's profile, which the service's pages show to patients: its logo, and the privacy policy and the
//! terms of use to which they link.

use axum::http::StatusCode;
use axum::response::Response;

use super::pages::{PrivacyPage, TermsPage};
use crate::sandbox::payer::answer::page;

/// The application's logo as SVG.
pub const MARK: &str = include_str!("../../../templates/sandbox/marks/sample.svg");

/// Shows the privacy policy.
pub(super) async fn privacy() -> Response {
    page(StatusCode::OK, &PrivacyPage)
}

/// Shows the terms of use.
pub(super) async fn terms() -> Response {
    page(StatusCode::OK, &TermsPage)
}
