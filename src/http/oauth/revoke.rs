//! `POST /oauth/revoke`: revokes a consent, with its tokens and its records.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::bearer::PatientToken;
use super::body::Fields;
use crate::consent::{Access, Actor, Origin};
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::service::Service;
use crate::http::shape::no_store;

/// The interval at which a revocation checks whether the records are erased.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A permitted revocation. The token is valid, the secret key belongs to the token's application and mode, and the
/// operator did not create the consent.
pub(in crate::http) struct Revocation {
    /// The consent of the token.
    pub(in crate::http) consent: String,
}

impl Revocation {
    /// Reads a request's body and checks that its `secret_key` permits the revocation.
    pub(in crate::http) async fn asked(
        service: &Arc<Service>,
        access: Arc<Access>,
        request: Request,
    ) -> Result<Revocation, Refused> {
        let (parts, body) = request.into_parts();
        let fields = Fields::read(&parts.headers, body, &service.limits).await?;
        let secret = fields.need("secret_key")?.to_owned();
        let work = move |service: &Service| -> Result<Revocation, Refused> {
            let (application, mode) = (&access.scope.application, access.scope.mode);
            if !service.store.clients().is_secret_of(application, mode, &secret)? {
                return Err(Error::SecretKey.into());
            }
            let consent = access.subject.to_string();
            let made_by = service.store.consents().get(&consent)?.map(|consent| consent.made_by);
            if made_by == Some(Origin::Operator) {
                let why = "this consent covers imported records, which only the operator of the service can erase";
                return Err(Error::Forbidden(why).into());
            }
            Ok(Revocation { consent })
        };
        service.blocking(work).await?
    }
}

/// Answers `POST /oauth/revoke`.
pub(super) async fn revoke(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
    request: Request,
) -> Result<Response, Refused> {
    let Revocation { consent } = Revocation::asked(&service, access, request).await?;
    let id = consent.clone();
    let count = service
        .blocking(move |service| service.store.consents().revoke(&id, Actor::Application))
        .await??;
    erased(&service, vec![consent]).await?;
    Ok(no_store(StatusCode::OK, &json!({"count": count}))?)
}

/// Waits until the records of these consents are erased from the lake, but at most for `Limits::erasure_time`. If this
/// time ends first, the erasure continues in the background. The tokens are already invalid.
pub(in crate::http) async fn erased(service: &Arc<Service>, mut consents: Vec<String>) -> Result<(), Refused> {
    let waiting = async {
        while let Some(consent) = consents.last().cloned() {
            let erasing = service
                .blocking(move |service| service.store.consents().is_erasing(&consent))
                .await??;
            if erasing {
                tokio::time::sleep(POLL_INTERVAL).await
            } else {
                drop(consents.pop())
            }
        }
        Ok(())
    };
    tokio::time::timeout(service.limits.erasure_time, waiting)
        .await
        .unwrap_or(Ok(()))
}
