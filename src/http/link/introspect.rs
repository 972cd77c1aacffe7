//! `GET /link/introspect`: describes the access of a patient token, and says whether the token is still valid.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::http::message::Refused;
use crate::http::oauth::{SignedToken, introspected};
use crate::http::service::Service;
use crate::http::shape::Surface;

/// Answers `GET /link/introspect`.
pub(super) async fn introspect(
    State(service): State<Arc<Service>>,
    SignedToken(inspected): SignedToken,
) -> Result<Response, Refused> {
    introspected(&service, inspected, Surface::Link).await
}
