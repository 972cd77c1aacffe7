//! Builds the members that responses about a consent share.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::counts::ByType;
use crate::consent::{ChosenEndpoint, Consent, ConsentWithSources, JobState, MaxAuth, NextRetry, Source, Usage};
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
    /// What a source is asked for again. Absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Retry>,
}

/// What is asked for again after a sync, because it failed beside stored records.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    resource_types: Vec<String>,
    /// When the source is asked again, in seconds since the Unix epoch.
    next_at: i64,
}

impl Retry {
    fn of<'s>(sources: impl Iterator<Item = &'s Source>, now: i64) -> Option<Retry> {
        let open = sources.filter(|source| !source.authorization.is_over(now));
        let open: Vec<&NextRetry> = open.filter_map(|source| source.next_retry.as_ref()).collect();
        let types: BTreeSet<&String> = open.iter().flat_map(|retry| &retry.types).collect();
        Some(Retry {
            next_at: open.iter().map(|retry| retry.at).min()?,
            resource_types: types.into_iter().cloned().collect(),
        })
    }
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
    let (last_synced_at, state, retry) = match source {
        Some(source) => {
            let retry = Retry::of(std::iter::once(source), now);
            (source.synced_at, source.sync, retry)
        }
        None => {
            let retry = Retry::of(full_consent.sources.iter(), now);
            (full_consent.synced_at(), full_consent.sync(now), retry)
        }
    };
    Ok(Sync {
        resource_types,
        last_synced_at,
        state,
        retry,
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
