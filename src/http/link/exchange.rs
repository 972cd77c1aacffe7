//! `POST /link/exchange`: the application sends a public token of the link component and its secret key, and gets an
//! access token and, for `MULTIPLE` usage, a refresh token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

use crate::consent::{Granted, MaxAuth, Usage};
use crate::http::error::Error;
use crate::http::oauth::{Fields, OAuthError};
use crate::http::service::Service;
use crate::http::shape::{Endpoint, Sync, User, max_auth, no_store, seconds_left, sync, usage};

#[derive(Serialize)]
struct Answer<'g> {
    access_token: &'g str,
    expires_in: i64,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'g str>,
    /// The seconds until the refresh token expires. Null without a refresh token.
    refresh_expires_in: Option<i64>,
    patient: Option<String>,
    user: Option<User<'g>>,
    endpoint: Option<Endpoint<'g>>,
    sync: Sync,
    #[serde(rename = "timeUntilMaxAuth")]
    max_auth: Value,
}

/// Answers `POST /link/exchange`.
pub(super) async fn exchange(State(service): State<Arc<Service>>, request: Request) -> Result<Response, OAuthError> {
    let (parts, body) = request.into_parts();
    let fields = Fields::read(&parts.headers, body, &service.limits).await?;
    let token = fields.need("public_token")?.to_owned();
    let secret = fields.need("secret_key")?.to_owned();
    let work = move |service: &Service| -> Result<Response, OAuthError> {
        let client = service.store.clients().of_secret(&secret)?;
        let client = client.ok_or(OAuthError::Client("the secret_key is not known"))?;
        let granted = service.tokens.exchange_public_token(&client, &token)?;
        Ok(no_store(StatusCode::OK, &answer(service, &granted)?)?)
    };
    service.blocking(work).await?
}

fn answer<'g>(service: &Service, granted: &'g Granted) -> Result<Answer<'g>, Error> {
    let full_consent = &granted.full_consent;
    let now = service.store.clock().now();
    let primary = full_consent.primary(now);
    Ok(Answer {
        access_token: &granted.access.token,
        expires_in: seconds_left(&granted.access),
        usage: usage(full_consent, now),
        refresh_token: granted.refresh.as_ref().map(|(token, _)| token.as_str()),
        refresh_expires_in: granted.refresh.as_ref().map(|(_, seconds)| *seconds),
        patient: full_consent.consent.patients.first().map(|id| format!("Patient/{id}")),
        user: User::of(&full_consent.consent),
        endpoint: primary.map(|source| Endpoint::from(&source.endpoint)),
        sync: sync(service, full_consent, None, true)?,
        max_auth: max_auth(primary.map_or(MaxAuth::Unsupported, |source| source.max_auth(now))),
    })
}
