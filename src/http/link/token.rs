//! `POST /link/token`: accepts the same grants as `/oauth/token`. A refresh also fetches fresh records, and its
//! response has the progress of the sync.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use crate::consent::{Granted, MaxAuth, Resync};
use crate::http::error::Error;
use crate::http::oauth::{Asked, Given, Grant, OAuthError, TokenAnswer};
use crate::http::service::Service;
use crate::http::shape::{max_auth, sync};

/// Answers `POST /link/token`.
pub(super) async fn token(State(service): State<Arc<Service>>, request: Request) -> Result<Response, OAuthError> {
    let asked = Asked::read(&service, request).await?;
    let work = move |service: &Service| -> Result<Response, OAuthError> {
        match asked.carry_out(service, Resync::Multiple)? {
            Given::Consent(granted) if matches!(asked.grant, Grant::Refresh { .. }) => {
                Ok(refreshed(service, &granted)?)
            }
            Given::Consent(granted) => Ok(TokenAnswer::of_consent(&granted).response()?),
            Given::Application(issued) => Ok(TokenAnswer::of_application(&issued).response()?),
        }
    };
    service.blocking(work).await?
}

fn refreshed(service: &Service, granted: &Granted) -> Result<Response, Error> {
    let full_consent = &granted.full_consent;
    let now = service.store.clock().now();
    let max = full_consent
        .primary(now)
        .map_or(MaxAuth::Unsupported, |source| source.max_auth(now));
    let sync = sync(service, full_consent, None, true)?;
    TokenAnswer::of_consent(granted)
        .with_sync(sync, max_auth(max))
        .response()
}
