//! `GET`, `PUT` and `DELETE /oauth/register/{client_id}`: a client reads, changes and ends its own registration
//! (RFC 7592), with its registration access token.
//!
//! The path may name any publishable key that the registration has or had. So a client finds its registration again,
//! even if it did not receive the answer with its new keys.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::{Extensions, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::information::ClientInformation;
use super::metadata::Metadata;
use super::own::rotation;
use super::register::{object, refused};
use super::token::RegistrationToken;
use crate::consent::{Actor, ManagedRegistration, RegistrationUpdate};
use crate::http::error::Error;
use crate::http::oauth::error::OAuthError;
use crate::http::oauth::revoke::erased;
use crate::http::service::Service;
use crate::http::shape::no_store;

/// The members of an answer that a change must not have (RFC 7592, section 2.2).
const ANSWERED_ONLY: [&str; 4] = [
    "registration_access_token",
    "registration_client_uri",
    "client_secret_expires_at",
    "client_id_issued_at",
];

/// Answers `GET`: the registration, with the token of the request.
pub(super) async fn read(
    State(service): State<Arc<Service>>,
    RegistrationToken(token): RegistrationToken,
    Path(client): Path<String>,
    extensions: Extensions,
) -> Result<Response, OAuthError> {
    let work = move |service: &Service| -> Result<Response, OAuthError> {
        let registration = opened(service, &token, &client, &extensions)?;
        let answer = ClientInformation::of(&service.base_url, &registration, None, &token);
        Ok(no_store(StatusCode::OK, &answer)?)
    };
    service.blocking(work).await?
}

/// Answers `PUT`: replaces the whole registration. The answer has a new token.
pub(super) async fn update(
    State(service): State<Arc<Service>>,
    RegistrationToken(token): RegistrationToken,
    Path(client): Path<String>,
    request: Request,
) -> Result<Response, OAuthError> {
    let (parts, body) = request.into_parts();
    // Check the token before the body, so that a bad token gets a 401 whatever the body is.
    let registration = {
        let (token, client, extensions) = (token.clone(), client.clone(), parts.extensions.clone());
        service
            .blocking(move |service| opened(service, &token, &client, &extensions))
            .await??
    };
    let object = object(&service, &parts.headers, body).await?;
    service.throttle.charge_write(&parts.extensions)?;
    service
        .blocking(move |service| updated(service, &token, &client, &registration, &object))
        .await?
}

fn updated(
    service: &Service,
    token: &str,
    client: &str,
    registration: &ManagedRegistration,
    object: &Map<String, Value>,
) -> Result<Response, OAuthError> {
    if let Some(name) = ANSWERED_ONLY.iter().find(|name| object.contains_key(**name)) {
        return Err(OAuthError::request(format!("a change must not have {name}")));
    }
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let Some(client_id) = text("client_id") else {
        return Err(OAuthError::request("a change must have the client_id"));
    };
    let client_secret = match object.get("client_secret") {
        None | Some(Value::Null) => None,
        Some(_) => Some(text("client_secret").unwrap_or_default()),
    };
    let metadata = Metadata::of(object)?;
    if metadata.is_confidential() != registration.key.confidential {
        let problem = "token_endpoint_auth_method cannot change from or to none: register another client";
        return Err(OAuthError::Metadata(problem.to_owned()));
    }
    let told = serde_json::to_string(&metadata).map_err(Error::internal)?;
    let update = RegistrationUpdate {
        client_id,
        client_secret,
        name: &metadata.client_name,
        redirect_uris: &metadata.redirect_uris,
        registration: &told,
        sync_frequency: metadata.own.sync_frequency,
        rotation: rotation(object)?,
    };
    let registrations = service.store.managed_registrations();
    let updated = registrations
        .update(token, client, &update, Actor::Application)
        .map_err(refused)?;
    let answer = ClientInformation::of(
        &service.base_url,
        &updated.registration,
        updated.secret.as_deref(),
        &updated.token,
    );
    Ok(no_store(StatusCode::OK, &answer)?)
}

/// Answers `DELETE`: ends the keys, the consents and the tokens of the registration.
pub(super) async fn end(
    State(service): State<Arc<Service>>,
    RegistrationToken(token): RegistrationToken,
    Path(client): Path<String>,
    extensions: Extensions,
) -> Result<Response, OAuthError> {
    let work = move |service: &Service| -> Result<Vec<String>, OAuthError> {
        let registrations = service.store.managed_registrations();
        // An interrupted end may have left a token without keys. Such a token cannot open the registration, but it can
        // end it.
        if registrations.open(&token, &client).is_ok() {
            service.throttle.charge_credential(&client, &extensions)?;
        }
        service.throttle.charge_write(&extensions)?;
        registrations.end(&token, &client, Actor::Application).map_err(refused)
    };
    let consents = service.blocking(work).await??;
    erased(&service, consents).await.map_err(Error::from)?;
    let mut response = no_store(StatusCode::NO_CONTENT, &json!(null))?;
    *response.body_mut() = axum::body::Body::empty();
    response.headers_mut().remove(axum::http::header::CONTENT_TYPE);
    Ok(response)
}

/// Returns the registration of a token, and charges the request to it.
fn opened(
    service: &Service,
    token: &str,
    client: &str,
    extensions: &Extensions,
) -> Result<ManagedRegistration, OAuthError> {
    let registration = service
        .store
        .managed_registrations()
        .open(token, client)
        .map_err(refused)?;
    service
        .throttle
        .charge_credential(&registration.key.publishable, extensions)?;
    Ok(registration)
}
