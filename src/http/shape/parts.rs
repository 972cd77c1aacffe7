//! Builds the members that responses about a consent share.

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

/// The member `user`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct User<'c> {
    external_id: &'c str,
}

impl<'c> User<'c> {
    /// Returns the user's external id from the application. `None` if the application sent none.
    pub(in crate::http) fn of(consent: &'c Consent) -> Option<User<'c>> {
        let external_id = consent.external_id.as_deref()?;
        Some(User { external_id })
    }
}

/// The member `endpoint`.
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

/// The member `sync`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct Sync {
    /// The number of resources of each type. Absent if the caller did not want counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_types: Option<Arc<ByType>>,
    last_synced_at: Option<i64>,
    /// The state of the newest job. Absent if there was no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<JobState>,
}

/// Builds `sync` for a consent, or for one `source` of it. If `counted`, reads files of the lake to count resources.
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
        Some(source) => (source.synced_at, source.sync),
        None => (full_consent.synced_at(), full_consent.sync(now)),
    };
    Ok(Sync {
        resource_types,
        last_synced_at,
        state,
    })
}

/// Returns the member `usage`: the usage of the primary source's authorization. Without a source, the usage that the
/// application requested.
pub(in crate::http) fn usage(full_consent: &ConsentWithSources, now: i64) -> Usage {
    full_consent
        .primary(now)
        .map_or(full_consent.consent.usage, |source| source.authorization.usage)
}

/// Returns the member `timeUntilMaxAuth`.
pub(in crate::http) fn max_auth(max: MaxAuth) -> Value {
    match max {
        MaxAuth::Seconds(seconds) => seconds.into(),
        MaxAuth::Unknown => UNKNOWN.into(),
        MaxAuth::Indefinite => INDEFINITE.into(),
        MaxAuth::Unsupported => UNSUPPORTED.into(),
    }
}
