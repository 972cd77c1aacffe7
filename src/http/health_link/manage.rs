//! `GET /rest/health-links` and `DELETE /rest/health-links/{id}`: list and revoke a patient's links. The server does
//! not keep the links' keys. So the list has facts about each link, but not the link itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::json;

use crate::consent::{HealthLink, LinkContent};
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::oauth::PatientToken;
use crate::http::service::Service;
use crate::http::shape::no_store;

/// A link as the JSON that its patient gets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'l> {
    id: &'l str,
    content: LinkContent,
    label: Option<&'l str>,
    flag: &'static str,
    created_at: Option<String>,
    expires_at: Option<String>,
    /// How many more wrong passcodes the link permits. Absent if it has no passcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_attempts: Option<u32>,
    uses: u64,
    last_used_at: Option<String>,
    last_recipient: Option<&'l str>,
}

impl<'l> Shown<'l> {
    pub(super) fn of(link: &'l HealthLink) -> Shown<'l> {
        Shown {
            id: &link.id,
            content: link.content,
            label: link.label.as_deref(),
            flag: link.flag(),
            created_at: time(link.created_at),
            expires_at: time(link.expires_at),
            remaining_attempts: link.has_passcode.then_some(link.attempts),
            uses: link.uses,
            last_used_at: link.used_at.and_then(time),
            last_recipient: link.recipient.as_deref(),
        }
    }
}

/// Formats Unix seconds as ISO 8601 in UTC. `None` if the time is out of range.
pub(super) fn time(seconds: i64) -> Option<String> {
    let time = DateTime::from_timestamp(seconds, 0);
    time.map(|time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
) -> Result<Response, Refused> {
    let links = service
        .blocking(move |service| service.store.health_links().of_consent(&access.subject))
        .await??;
    let shown: Vec<Shown<'_>> = links.iter().map(Shown::of).collect();
    Ok(no_store(StatusCode::OK, &json!({"healthLinks": shown}))?)
}

pub(super) async fn revoke(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let revoked = service
        .blocking(move |service| service.store.health_links().revoke(&access.subject, &id))
        .await??;
    if !revoked {
        return Err(Error::Unknown("There is no health link with this id.".to_owned()).into());
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}
