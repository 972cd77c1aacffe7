//! The bearer token of a request, as an extractor: a handler that takes a [`Caller`] is reached by token holders only.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;

use super::error::Error;
use super::service::Service;
use crate::consent::Access;
use crate::lake::Mode;

/// Who asks on a FHIR route.
pub(super) struct Caller(pub(super) Arc<Access>);

impl FromRequestParts<Arc<Service>> for Caller {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Caller, Error> {
        let token = bearer(&parts.headers)?;
        let access = service.tokens.verify(token).map_err(Error::BadToken)?;
        if access.patients().is_none() && access.scope.mode == Mode::Test {
            return Err(Error::TestMode);
        }
        Ok(Caller(access))
    }
}

/// The token behind `Bearer`, a scheme that RFC 9110 compares without regard to case.
fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
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
