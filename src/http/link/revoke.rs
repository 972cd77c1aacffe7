//! `POST /link/revoke`: revokes the token's consent, and all authorizations of the same user to the same endpoints.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::message::Refused;
use crate::http::oauth::{PatientToken, Revocation, erased};
use crate::http::service::Service;
use crate::http::shape::no_store;

/// Answers `POST /link/revoke`.
pub(super) async fn revoke(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
    request: Request,
) -> Result<Response, Refused> {
    let Revocation { consent } = Revocation::asked(&service, access, request).await?;
    let revoked = service
        .blocking(move |service| service.store.revoke_links(&consent))
        .await??;
    erased(&service, revoked.consents).await?;
    Ok(no_store(StatusCode::OK, &json!({"count": revoked.count}))?)
}
