//! `GET /oauth/introspect`: describes the access of a patient token, and says whether the token is still valid.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::bearer::SignedToken;
use crate::consent::Inspected;
use crate::http::message::Refused;
use crate::http::service::Service;
use crate::http::shape::{Surface, introspection, no_store};

/// Answers `GET /oauth/introspect`.
pub(super) async fn introspect(
    State(service): State<Arc<Service>>,
    SignedToken(inspected): SignedToken,
) -> Result<Response, Refused> {
    introspected(&service, inspected, Surface::Oauth).await
}

/// Returns the introspection of a token, for the OAuth API and the link API.
pub(in crate::http) async fn introspected(
    service: &Arc<Service>,
    inspected: Inspected,
    surface: Surface,
) -> Result<Response, Refused> {
    let work = move |service: &Service| -> Result<Response, Refused> {
        let answer = match service.store.consents().full(&inspected.claims.sub)? {
            Some(full_consent) => introspection(service, &inspected, &full_consent, surface)?,
            // The token's consent no longer exists.
            None => json!({"active": false}),
        };
        Ok(no_store(StatusCode::OK, &answer)?)
    };
    service.blocking(work).await?
}
