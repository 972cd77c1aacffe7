//! The bearer token of a request, as an extractor: a handler that takes a [`Caller`] is reached by token holders only.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::error::Error;
use super::message::Refused;
use super::service::Service;
use crate::consent::{Access, LOCAL_APPLICATION, Readiness};
use crate::lake::Mode;

/// Who asks on a FHIR route.
pub(super) struct Caller(pub(super) Arc<Access>);

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Caller, Error> {
        let access = admitted(parts, service)?;
        if access.patients().is_none() && access.scope.mode == Mode::Test {
            return Err(Error::TestMode);
        }
        if access.patients().is_some() {
            match service.store.readiness(&access.subject).map_err(Error::internal)? {
                Readiness::Ready => {}
                Readiness::Syncing => return Err(Error::Syncing),
                Readiness::Nothing => {
                    let reason = "no records could be fetched; the patient has to authorize again";
                    return Err(Error::Processing(reason.to_owned()));
                }
            }
        }
        Ok(Caller(access))
    }
}

/// Who asks on a route outside of `/fhir`, where tokens of either kind and mode are good.
pub(super) struct AnyToken(pub(super) Arc<Access>);

impl FromRequestParts<Arc<Service>> for AnyToken {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<AnyToken, Refused> {
        Ok(AnyToken(admitted(parts, service)?))
    }
}

/// What the request's token stands for, once the request is charged to it.
pub(super) fn admitted(parts: &Parts, service: &Service) -> Result<Arc<Access>, Error> {
    let access = service
        .tokens
        .verify(bearer(&parts.headers)?)
        .map_err(Error::BadToken)?;
    // The operator's own tokens are as good as the command line.
    match &*access.scope.application {
        LOCAL_APPLICATION => service.throttle.exempt(&parts.extensions),
        _ => service.throttle.charge_credential(&access.subject, &parts.extensions)?,
    }
    Ok(access)
}

/// The token behind `Bearer`, a scheme that RFC 9110 compares without regard to case.
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
