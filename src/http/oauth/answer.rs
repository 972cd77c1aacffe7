//! The response body of a token endpoint (RFC 6749, section 5.1), with SMART's `patient` and the fields of the link
//! API.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

use crate::consent::{Granted, Issued};
use crate::http::error::Error;
use crate::http::shape::{Sync, no_store, seconds_left};

/// A successful token response. Fields without a value are left out.
#[derive(Debug, Serialize)]
pub(in crate::http) struct TokenAnswer<'g> {
    access_token: &'g str,
    token_type: &'static str,
    expires_in: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    /// The Patient's id without `Patient/`, as SMART requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    patient: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'g str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_expires_in: Option<i64>,
    /// The progress of the sync. Only refreshes at `/link/token` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<Sync>,
    #[serde(rename = "timeUntilMaxAuth", skip_serializing_if = "Option::is_none")]
    max_auth: Option<Value>,
}

impl<'g> TokenAnswer<'g> {
    /// Returns the response for an application token (grant `client_credentials`).
    pub(in crate::http) fn of_application(issued: &'g Issued) -> TokenAnswer<'g> {
        TokenAnswer {
            access_token: &issued.token,
            token_type: "Bearer",
            expires_in: seconds_left(issued),
            scope: None,
            patient: None,
            refresh_token: None,
            refresh_expires_in: None,
            sync: None,
            max_auth: None,
        }
    }

    /// Returns the response for the tokens of a consent. For tokens that the link API issued, it leaves out `scope`
    /// and `patient`.
    pub(in crate::http) fn of_consent(granted: &'g Granted) -> TokenAnswer<'g> {
        let consent = &granted.full_consent.consent;
        let smart = !granted.by_link;
        TokenAnswer {
            scope: smart.then(|| granted.full_consent.granted_scope()),
            patient: consent.patients.first().map(String::as_str).filter(|_| smart),
            refresh_token: granted.refresh.as_ref().map(|(token, _)| token.as_str()),
            refresh_expires_in: granted.refresh.as_ref().map(|(_, seconds)| *seconds),
            ..TokenAnswer::of_application(&granted.access)
        }
    }

    /// Adds the progress of the sync and the time until the patient must authorize again.
    pub(in crate::http) fn with_sync(self, sync: Sync, max_auth: Value) -> TokenAnswer<'g> {
        TokenAnswer {
            sync: Some(sync),
            max_auth: Some(max_auth),
            ..self
        }
    }

    /// Renders the response with status 200, not to be cached.
    pub(in crate::http) fn response(&self) -> Result<Response, Error> {
        no_store(StatusCode::OK, self)
    }
}
