//! Checks the bearer token of a request. A handler that takes a [`Caller`] or an [`AnyToken`] runs only for requests
//! with a valid token.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::error::Error;
use super::message::Refused;
use super::service::Service;
use crate::consent::{Access, LOCAL_APPLICATION, Readiness, SourceOutcome};
use crate::lake::Mode;

/// The minimum number of seconds after which a client should repeat a request for records that are being fetched.
const SYNC_WAIT: i64 = 3;

/// The caller of a FHIR route. Application tokens of test mode are refused. Patient tokens are refused if no records of
/// the patient are stored.
pub(super) struct Caller(pub(super) Arc<Access>);

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Caller, Error> {
        let access = admitted(parts, service)?;
        if access.patients().is_none() && access.scope.mode == Mode::Test {
            return Err(Error::TestMode);
        }
        match access.patients() {
            Some(_) => Ok(Caller(present(access, service)?)),
            None => Ok(Caller(access)),
        }
    }
}

/// Returns the access of a patient token if its records are stored. If some of its Patients have expired, the access is
/// narrowed to the other Patients. An error if no records are stored.
pub(super) fn present(access: Arc<Access>, service: &Service) -> Result<Arc<Access>, Error> {
    let store = &service.store;
    let presence = store.consents().presence(&access.subject).map_err(Error::internal)?;
    if presence.readiness != Readiness::Ready {
        return Err(not_ready(presence.readiness, &access, service));
    }
    // Some of the consent's sources may have expired, and their Patients are gone with them. So narrow the access to
    // the Patients that remain.
    let changed = access.patients().is_some_and(|known| *known != *presence.patients);
    if changed && !presence.patients.is_empty() {
        Ok(Arc::new(access.narrowed_to(&presence.patients)))
    } else {
        Ok(access)
    }
}

/// Returns the error that tells why a patient token's records cannot be read.
pub(super) fn not_ready(readiness: Readiness, access: &Access, service: &Service) -> Error {
    let store = &service.store;
    match readiness {
        Readiness::Syncing { again_at } => {
            let wait = again_at.map_or(0, |again_at| again_at - store.clock().now());
            Error::Syncing(SYNC_WAIT.max(wait))
        }
        Readiness::Expunged => {
            let reason = "the patient has had these records erased; a new authorization brings records again";
            Error::Unknown(reason.to_owned())
        }
        Readiness::Expired | Readiness::Ready => {
            let reason = "the time for which the records were shared is over; the patient has to authorize again";
            Error::Processing(reason.to_owned())
        }
        Readiness::Nothing => match store.jobs().source_outcomes(&access.subject) {
            Ok(said) => Error::NothingSynced(SourceOutcome::joined(said)),
            Err(error) => Error::internal(error),
        },
    }
}

/// The caller of a route outside `/fhir`. Patient and application tokens of both modes are accepted.
pub(super) struct AnyToken(pub(super) Arc<Access>);

impl FromRequestParts<Arc<Service>> for AnyToken {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<AnyToken, Refused> {
        Ok(AnyToken(admitted(parts, service)?))
    }
}

/// Verifies the request's token and returns its access. Charges the request to the token's consent or application
/// key.
pub(super) fn admitted(parts: &Parts, service: &Service) -> Result<Arc<Access>, Error> {
    let access = service
        .tokens
        .verify(bearer(&parts.headers)?)
        .map_err(Error::BadToken)?;
    // The operator's own tokens are not limited, because they have the same rights as the command line.
    match &*access.scope.application {
        LOCAL_APPLICATION => service.throttle.exempt(&parts.extensions),
        _ => service.throttle.charge_credential(&access.subject, &parts.extensions)?,
    }
    Ok(access)
}

/// Returns the token after `Bearer` in the Authorization header. The scheme's case does not matter (RFC 9110). More
/// than one such header is an error.
pub(super) fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().ok_or(Error::NoToken)?;
    if values.next().is_some() {
        return Err(Error::BadToken(crate::consent::Refusal::Malformed));
    }
    let text = value
        .to_str()
        .map_err(|_| Error::BadToken(crate::consent::Refusal::Malformed))?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Error::NoToken),
    }
}
