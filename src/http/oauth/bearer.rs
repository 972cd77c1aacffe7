//! Extractors for routes outside `/fhir` that need a patient token.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::consent::{Access, Inspected};
use crate::http::auth::{admitted, bearer};
use crate::http::error::Error;
use crate::http::message::Refused;
use crate::http::service::Service;

/// The access of a valid patient token.
pub(in crate::http) struct PatientToken(pub(in crate::http) Arc<Access>);

/// The claims of a patient token that this service signed. It may be expired or revoked.
pub(in crate::http) struct SignedToken(pub(in crate::http) Inspected);

impl FromRequestParts<Arc<Service>> for PatientToken {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<PatientToken, Refused> {
        let access = admitted(parts, service)?;
        match access.patients() {
            Some(_) => Ok(PatientToken(access)),
            None => Err(Error::ConsentToken.into()),
        }
    }
}

impl FromRequestParts<Arc<Service>> for SignedToken {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<SignedToken, Refused> {
        let inspected = service
            .tokens
            .inspect(bearer(&parts.headers)?)
            .map_err(Error::BadToken)?;
        charge(service, &inspected.claims.sub, parts)?;
        match inspected.claims.patient {
            Some(_) => Ok(SignedToken(inspected)),
            None => Err(Error::ConsentToken.into()),
        }
    }
}

/// Charges the request to the rate of its consent. All tokens of a consent share one rate.
fn charge(service: &Service, subject: &str, parts: &Parts) -> Result<(), Error> {
    service.throttle.charge_credential(subject, &parts.extensions)
}
