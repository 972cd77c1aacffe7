//! `GET /health-links/{address}/file/{ticket}`: returns a file to which a manifest refers. This URL is valid for an
//! hour.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::answers::{jose, over};
use super::shlink::url;
use crate::http::message::Refused;
use crate::http::service::Service;

/// The seconds for which a file's URL is valid: the maximum that SMART Health Links allows.
const LIFETIME: i64 = 3_600;

/// Returns a URL of the link's file. It is valid for an hour, but not after the link expires.
pub(super) fn location(service: &Service, address: &str, expires_at: i64) -> Result<String, Refused> {
    let until = service.store.clock().now().saturating_add(LIFETIME).min(expires_at);
    let sealed = service.store.seal(&purpose(address), &until.to_le_bytes())?;
    let ticket = URL_SAFE_NO_PAD.encode(sealed);
    Ok(format!("{}/file/{ticket}", url(&service.base_url, address)))
}

pub(super) async fn located(
    State(service): State<Arc<Service>>,
    Path((address, ticket)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let work = move |service: &Service| -> Result<Response, Refused> {
        let sealed = URL_SAFE_NO_PAD.decode(&ticket).map_err(|_| over())?;
        let until = service.store.unseal(&purpose(&address), &sealed).map_err(|_| over())?;
        let until = until.try_into().map(i64::from_le_bytes).map_err(|_| over())?;
        if until <= service.store.clock().now() {
            return Err(over());
        }
        let file = service.store.health_links().file(&address)?.ok_or_else(over)?;
        Ok(jose(file.jwe))
    };
    service.blocking(work).await?
}

fn purpose(address: &str) -> String {
    format!("health-link-file/{address}")
}
