//! Introspects a patient token: its claims, its consent, and the state of its records.

use serde_json::{Value, json};

use super::parts::{Endpoint, User, max_auth, sync, usage};
use crate::consent::{AuthorizationState, ConsentWithSources, Inspected, MaxAuth, Source, Usage};
use crate::http::error::Error;
use crate::http::service::Service;

/// The API through which a token is introspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Surface {
    /// `/oauth/introspect`.
    Oauth,
    /// `/link/introspect`. In its response `sub` is the id of the primary authorization, and `state` may be
    /// `REFRESHED`.
    Link,
}

/// Builds the introspection response for a token of a consent. Reads files of the lake to count resources.
pub(in crate::http) fn introspection(
    service: &Service,
    inspected: &Inspected,
    full_consent: &ConsentWithSources,
    surface: Surface,
) -> Result<Value, Error> {
    let (claims, consent) = (&inspected.claims, &full_consent.consent);
    let now = service.store.clock().now();
    let primary = full_consent.primary(now);
    // If the application may use no source, the token is useless, so it counts as inactive. Its refresh token may be
    // valid nevertheless. A consent without sources is the operator's.
    let usable = primary.map_or(consent.expunged_at.is_none(), |source| {
        source.authorization.is_active(now)
    });
    let active = inspected.active && usable;
    // Take the primary Patient from the consent, because it may have changed since the token was issued.
    let patient = consent.patients.first().map(|id| format!("Patient/{id}"));
    let subject = match (surface, primary) {
        (Surface::Link, Some(source)) => &source.authorization.id,
        _ => &claims.sub,
    };
    let mut answer = json!({
        "jti": claims.jti,
        "iat": claims.iat,
        "exp": claims.exp,
        "active": active,
        "iss": claims.iss,
        "aud": claims.aud,
        "sub": subject,
        "client_id": claims.client_id,
        "patient": patient.as_ref().or(claims.patient.as_ref()),
        "user": User::of(consent),
        "state": primary.map_or(consent.state.name(), |source| state(source, surface, now)),
        "usage": usage(full_consent, now),
        "endpoint": primary.map(|source| Endpoint::from(&source.endpoint)),
        "sync": sync(service, full_consent, None, true)?,
        "timeUntilMaxAuth": max_auth(primary.map_or(MaxAuth::Unsupported, |source| source.max_auth(now))),
    });
    // If the patient had the records erased, say when. The token itself stays valid.
    if let Some(at) = consent.expunged_at {
        answer["expungedAt"] = at.into();
    }
    Ok(answer)
}

/// Returns the state of an authorization. Only the link API reports that it was refreshed.
fn state(source: &Source, surface: Surface, now: i64) -> &'static str {
    let authorization = &source.authorization;
    let refreshed = authorization.refreshed_at.is_some() && authorization.usage == Usage::Multiple;
    match authorization.state_at(now) {
        AuthorizationState::Exchanged if surface == Surface::Link && refreshed => "REFRESHED",
        state => state.name(),
    }
}
