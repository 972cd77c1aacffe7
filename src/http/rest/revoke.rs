//! `POST /rest/consent/{id}/revoke`: an application revokes a consent by its key pair, without a token of the patient.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::consent::{Actor, Client, Origin};
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::oauth::described::count;
use crate::http::oauth::{KeyPair, erased};
use crate::http::routes::{Operation, Route};
use crate::http::service::Service;
use crate::http::shape::no_store;

pub(super) fn routes() -> Vec<Route> {
    let about = "End a consent of the application and mode of the key pair, with its tokens and its records";
    let operation = Operation::new("revokeConsent", about).by_key_pair().response(
        200,
        "How many patient authorizations were ended; 0 if the consent has ended before",
        &["application/json"],
        &count(),
    );
    vec![Route::at("/rest/consent/{id}/revoke").post(revoke, operation)]
}

async fn revoke(
    State(service): State<Arc<Service>>,
    KeyPair(client): KeyPair,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let consent = id.clone();
    let count = service
        .blocking(move |service| revoked(service, &client, &id))
        .await??;
    erased(&service, vec![consent]).await?;
    Ok(no_store(StatusCode::OK, &json!({"count": count}))?)
}

/// Revokes a consent of the client's application and mode. Any other consent looks as if it did not exist.
fn revoked(service: &Service, client: &Client, id: &str) -> Result<u64, Refused> {
    let consents = service.store.consents();
    let consent = consents
        .get(id)?
        .filter(|consent| consent.application == *client.application && consent.mode == client.mode);
    let consent = consent.ok_or_else(|| Error::Unknown("There is no consent with this id.".to_owned()))?;
    if consent.made_by == Origin::Operator {
        let why = "this consent covers imported records, which only the operator of the service can erase";
        return Err(Error::Forbidden(why).into());
    }
    Ok(consents.revoke(id, Actor::Application)?)
}
