//! `POST /oauth/register`: dynamic registration of clients (RFC 7591). Anybody may register a client for test mode.
//! Live mode requires an initial access token, which the operator issues for one use.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};

use super::information::ClientInformation;
use super::metadata::Metadata;
use crate::consent::{self, Actor, NewApplication};
use crate::http::auth::bearer;
use crate::http::body::{is_typed, read};
use crate::http::error::Error;
use crate::http::limits::Limits;
use crate::http::oauth::error::OAuthError;
use crate::http::service::Service;
use crate::http::shape::no_store;
use crate::lake::Mode;

/// The maximum bytes of a registration's body.
const LONGEST: usize = 64 * 1_024;

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
    let metadata = Metadata::of(&object(&service, &parts.headers, body).await?)?;
    if token.is_none() {
        service.throttle.charge_write(&parts.extensions)?;
    }
    service
        .blocking(move |service| registered(service, &metadata, token.as_deref()))
        .await?
}

/// Reads the body of a registration or of a change: one JSON object.
pub(super) async fn object(
    service: &Service,
    headers: &HeaderMap,
    body: Body,
) -> Result<Map<String, Value>, OAuthError> {
    if !is_typed(headers, &["application/json"]) {
        return Err(OAuthError::Common(Error::MediaType("application/json")));
    }
    let limits = Limits {
        body: service.limits.body.min(LONGEST),
        ..service.limits.clone()
    };
    let bytes = read(headers, body, &limits).await?;
    serde_json::from_slice(&bytes).map_err(|_| OAuthError::Metadata("the body is not one JSON object".to_owned()))
}

fn registered(service: &Service, metadata: &Metadata, token: Option<&str>) -> Result<Response, OAuthError> {
    let told = serde_json::to_string(metadata).map_err(Error::internal)?;
    let mode = if token.is_some() { Mode::Live } else { Mode::Test };
    let new = NewApplication {
        name: &metadata.client_name,
        confidential: metadata.is_confidential(),
        redirect_uris: &metadata.redirect_uris,
        sync_frequency: metadata.own.sync_frequency,
        registration: Some(&told),
        initial_access_token: token,
        ..NewApplication::default()
    };
    let registrations = service.store.managed_registrations();
    let registered = registrations.register(&new, mode, Actor::Application);
    let (registration, keys, token) = registered.map_err(refused)?;
    let answer = ClientInformation::of(&service.base_url, &registration, keys.secret.as_deref(), &token);
    Ok(no_store(StatusCode::CREATED, &answer)?)
}

/// Converts an error of the store about a registration.
pub(super) fn refused(error: consent::Error) -> OAuthError {
    match error {
        consent::Error::InitialAccessToken => OAuthError::InitialAccessToken,
        consent::Error::RegistrationAccess => OAuthError::RegistrationAccess,
        consent::Error::Registration(problem) => OAuthError::request(problem),
        consent::Error::RedirectUri { .. } => OAuthError::RedirectUri(error.to_string()),
        consent::Error::Invalid { .. } => OAuthError::Metadata(error.to_string()),
        other => other.into(),
    }
}
