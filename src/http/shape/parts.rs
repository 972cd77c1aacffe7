//! The structures themselves.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::counts::ByType;
use crate::consent::{ChosenEndpoint, Consent, ConsentWithSources, JobState, MaxAuth, Source, Usage};
use crate::http::error::Error;
use crate::http::service::Service;

pub(super) const UNKNOWN: &str = "unknown";
pub(super) const INDEFINITE: &str = "indefinite";
pub(super) const UNSUPPORTED: &str = "unsupported";

/// `user`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct User<'c> {
    external_id: &'c str,
}

impl<'c> User<'c> {
    /// The user that the application named, if any.
    pub(in crate::http) fn of(consent: &'c Consent) -> Option<User<'c>> {
        let external_id = consent.external_id.as_deref()?;
        Some(User { external_id })
    }
}

/// `endpoint`.
#[derive(Debug, Serialize)]
pub(in crate::http) struct Endpoint<'s> {
    id: &'s str,
    name: &'s str,
    label: &'s [String],
    refreshable: bool,
}

impl<'s> From<&'s ChosenEndpoint> for Endpoint<'s> {
    fn from(endpoint: &'s ChosenEndpoint) -> Endpoint<'s> {
        Endpoint {
            id: &endpoint.id,
            name: &endpoint.name,
            label: &endpoint.label,
            refreshable: endpoint.refreshable,
        }
    }
}

/// `sync`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct Sync {
    /// Left out if the counts are not wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_types: Option<Arc<ByType>>,
    last_synced_at: Option<i64>,
    /// Left out if no job ran, or if the records are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
}

/// `sync` of a whole consent, or of one source. Without counts if they are not wanted. It reads files.
pub(in crate::http) fn sync(
    service: &Service,
    full_consent: &ConsentWithSources,
    source: Option<&Source>,
    counted: bool,
) -> Result<Sync, Error> {
    let resource_types = if counted {
        Some(
            service
                .counts
                .of(&service.lake, full_consent.scope(&service.lake, source))?,
        )
    } else {
        None
    };
    let now = service.store.clock().now();
    let (last_synced_at, state) = match source {
        Some(source) => (source.synced_at, source.sync_at(now)),
        None => (full_consent.synced_at(), full_consent.sync(now)),
    };
    Ok(Sync {
        resource_types,
        last_synced_at,
        state,
    })
}

/// The member `usage`: the final usage of the primary source. Without a source, the requested usage.
pub(in crate::http) fn usage(full_consent: &ConsentWithSources) -> Usage {
    full_consent
        .primary()
        .map_or(full_consent.consent.usage, |source| source.authorization.usage)
}

/// `timeUntilMaxAuth`.
pub(in crate::http) fn max_auth(max: MaxAuth) -> Value {
    match max {
        MaxAuth::Seconds(seconds) => seconds.into(),
        MaxAuth::Unknown => UNKNOWN.into(),
        MaxAuth::Indefinite => INDEFINITE.into(),
        MaxAuth::Unsupported => UNSUPPORTED.into(),
    }
}
