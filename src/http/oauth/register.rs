//! `POST /oauth/register`: dynamic registration of clients (RFC 7591). Anybody may register a client for test mode.
//! Live mode requires an initial access token, which the operator issues for one use.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::response::Response;
use serde::Serialize;
use serde_json::{Map, Value};

use super::error::OAuthError;
use super::metadata::Metadata;
use crate::consent::{self, Actor, NewApplication};
use crate::http::auth::bearer;
use crate::http::body::{is_typed, read};
use crate::http::error::Error;
use crate::http::limits::Limits;
use crate::http::service::Service;
use crate::http::shape::no_store;
use crate::lake::Mode;

/// The maximum bytes of a registration's body.
const LONGEST: usize = 64 * 1_024;

#[derive(Serialize)]
struct Registered<'r> {
    client_id: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'r str>,
    client_id_issued_at: i64,
    /// Always 0, because the secret key does not expire (RFC 7591, section 3.2.1).
    client_secret_expires_at: i64,
    #[serde(flatten)]
    metadata: &'r Metadata,
}

/// Answers `POST /oauth/register`.
pub(super) async fn register(State(service): State<Arc<Service>>, request: Request) -> Result<Response, OAuthError> {
    let (parts, body) = request.into_parts();
    let token = if parts.headers.contains_key(AUTHORIZATION) {
        Some(
            bearer(&parts.headers)
                .map_err(|_| OAuthError::InitialAccessToken)?
                .to_owned(),
        )
    } else {
        None
    };
    if !is_typed(&parts.headers, &["application/json"]) {
        return Err(OAuthError::Common(Error::MediaType("application/json")));
    }
    let limits = Limits {
        body: service.limits.body.min(LONGEST),
        ..service.limits.clone()
    };
    let bytes = read(&parts.headers, body, &limits).await?;
    let object: Map<String, Value> = serde_json::from_slice(&bytes)
        .map_err(|_| OAuthError::Metadata("the body is not one JSON object".to_owned()))?;
    let metadata = Metadata::of(&object)?;
    if token.is_none() {
        service.throttle.charge_write(&parts.extensions)?;
    }
    service
        .blocking(move |service| registered(service, &metadata, token.as_deref()))
        .await?
}

fn registered(service: &Service, metadata: &Metadata, token: Option<&str>) -> Result<Response, OAuthError> {
    let told = serde_json::to_string(metadata).map_err(Error::internal)?;
    let modes: &[Mode] = if token.is_some() { &[Mode::Live] } else { &[Mode::Test] };
    let new = NewApplication {
        name: &metadata.client_name,
        modes,
        confidential: metadata.is_confidential(),
        redirect_uris: &metadata.redirect_uris,
        registration: Some(&told),
        initial_access_token: token,
        ..NewApplication::default()
    };
    let (application, keys) = service
        .store
        .applications()
        .create(&new, Actor::Application)
        .map_err(refused)?;
    let keys = keys
        .first()
        .ok_or_else(|| Error::internal("an application without keys was made"))?;
    let registered = Registered {
        client_id: &keys.publishable,
        client_secret: keys.secret.as_deref(),
        client_id_issued_at: application.created_at,
        client_secret_expires_at: 0,
        metadata,
    };
    Ok(no_store(StatusCode::CREATED, &registered)?)
}

fn refused(error: consent::Error) -> OAuthError {
    match error {
        consent::Error::InitialAccessToken => OAuthError::InitialAccessToken,
        consent::Error::RedirectUri { .. } => OAuthError::RedirectUri(error.to_string()),
        consent::Error::Invalid { .. } => OAuthError::Metadata(error.to_string()),
        other => other.into(),
    }
}
