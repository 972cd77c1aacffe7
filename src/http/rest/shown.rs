//! A consent as the REST API's JSON: in full if it is requested by its id, as a summary in a list.

use chrono::{DateTime, SecondsFormat};
use serde::Serialize;
use serde_json::Value;

use crate::consent::{AuthorizationState, AuthorizationType, ConsentState, ConsentWithSources, Missing, Source, Usage};
use crate::fhir::outcome::{Issue, OperationOutcome};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::http::shape::{Endpoint, Sync, User, kind_of, max_auth, sync};
use crate::lake::Mode;

/// How much of a consent is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The whole consent.
    Full {
        /// Whether the sync's progress has the number of stored resources.
        counted: bool,
    },
    /// The consent, with its authorizations without `sync`, `scope` and `syncIssues`.
    Summary,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownConsent<'s> {
    id: &'s str,
    state: ConsentState,
    mode: &'static str,
    created_at: Option<String>,
    updated_at: Option<String>,
    user: Option<User<'s>>,
    patient_authorizations: Vec<ShownAuthorization<'s>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownAuthorization<'s> {
    id: &'s str,
    #[serde(rename = "type")]
    authorization_type: AuthorizationType,
    state: AuthorizationState,
    usage: Usage,
    created_at: Option<String>,
    authorized_at: Option<String>,
    exchanged_at: Option<String>,
    revoked_at: Option<String>,
    expired_at: Option<String>,
    patient: Option<String>,
    identity_provider: Option<&'s str>,
    endpoint: Option<Endpoint<'s>>,
    active: bool,
    time_until_max_auth: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<Sync>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scopes<'s>>,
    /// What the newest sync could not get, as issues. Absent if it got everything, if the records are gone, and in a
    /// summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync_issues: Option<OperationOutcome>,
}

/// The scopes that were requested from a source, and those that it granted and rejected.
#[derive(Serialize)]
struct Scopes<'s> {
    requested: Vec<&'s str>,
    granted: Vec<&'s str>,
    rejected: Vec<String>,
}

impl<'s> ShownConsent<'s> {
    /// Builds the JSON form of a consent to this extent. Reads files of the lake if resources are counted.
    pub(super) fn of(
        service: &Service,
        full_consent: &'s ConsentWithSources,
        extent: Extent,
    ) -> Result<ShownConsent<'s>, Error> {
        let consent = &full_consent.consent;
        let now = service.store.clock().now();
        let mut authorizations = Vec::with_capacity(full_consent.sources.len());
        for source in &full_consent.sources {
            let sync = match extent {
                Extent::Full { counted } => Some(sync(service, full_consent, Some(source), counted)?),
                Extent::Summary => None,
            };
            authorizations.push(ShownAuthorization::of(source, now, sync));
        }
        Ok(ShownConsent {
            id: &consent.id,
            state: consent.state,
            mode: match consent.mode {
                Mode::Live => "LIVE",
                Mode::Test => "TEST",
            },
            created_at: time(Some(consent.created_at)),
            updated_at: time(consent.updated_at),
            user: User::of(consent),
            patient_authorizations: authorizations,
        })
    }
}

impl<'s> ShownAuthorization<'s> {
    /// Builds the JSON form of an authorization: in full if there is a `sync`, a summary if not.
    fn of(source: &'s Source, now: i64, sync: Option<Sync>) -> ShownAuthorization<'s> {
        let authorization = &source.authorization;
        let scope = sync.as_ref().and_then(|_| Scopes::of(source));
        // If the records are gone, leave out the issues of their sync.
        let told = sync.as_ref().filter(|_| !authorization.is_over(now));
        let sync_issues = told.and_then(|_| issues(&source.missing));
        ShownAuthorization {
            id: &authorization.id,
            authorization_type: authorization.authorization_type,
            state: authorization.state_at(now),
            usage: authorization.usage,
            created_at: time(Some(authorization.created_at)),
            authorized_at: time(authorization.authorized_at),
            exchanged_at: time(authorization.exchanged_at),
            revoked_at: time(authorization.revoked_at),
            expired_at: time(authorization.expired_at(now)),
            patient: authorization.patient.as_ref().map(|id| format!("Patient/{id}")),
            identity_provider: authorization.identity_provider.as_deref(),
            endpoint: Some(Endpoint::from(&source.endpoint)),
            active: authorization.is_active(now),
            time_until_max_auth: max_auth(source.max_auth(now)),
            sync,
            scope,
            sync_issues,
        }
    }
}

impl<'s> Scopes<'s> {
    /// Reads the scopes of a source. `None` if the source has not answered yet.
    fn of(source: &'s Source) -> Option<Scopes<'s>> {
        let words = |text: &'s Option<String>| text.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>());
        let requested = words(&source.authorization.scope_requested)?;
        let granted = words(&source.authorization.scope_granted).unwrap_or_default();
        let rejected = requested.iter().filter(|scope| !granted.contains(scope));
        let rejected = rejected
            .flat_map(|scope| refused(scope, &granted, &source.endpoint.resources))
            .collect();
        Some(Scopes {
            requested,
            granted,
            rejected,
        })
    }
}

/// Returns what the source rejected of `scope`, a requested scope that it did not grant as a whole. If `scope` is for
/// all types (`patient/*.read`) and the source granted some of its `types`, these are the scopes of its other types.
/// Otherwise it is `scope` itself.
fn refused(scope: &str, granted: &[&str], types: &[String]) -> Vec<String> {
    let Some((context, access)) = scope.split_once("/*.") else {
        return vec![scope.to_owned()];
    };
    let single = types
        .iter()
        .map(|resource_type| format!("{context}/{resource_type}.{access}"));
    let (given, missing): (Vec<String>, Vec<String>) = single.partition(|scope| granted.contains(&scope.as_str()));
    if given.is_empty() {
        vec![scope.to_owned()]
    } else {
        missing
    }
}

/// Builds an OperationOutcome with one issue for each resource type, or part of a type, that a sync could not get.
/// `None` if it got everything.
fn issues(missing: &[Missing]) -> Option<OperationOutcome> {
    let mut all = missing.iter().map(|one| {
        let (severity, code) = kind_of(one.reason);
        let issue = Issue::new(severity, code, one.line()).expression(&one.resource_type);
        match &one.part {
            Some(part) => issue.diagnostics(part),
            None => issue,
        }
    });
    let first = OperationOutcome::new(all.next()?);
    Some(all.fold(first, OperationOutcome::and))
}

/// Formats Unix seconds as ISO 8601 in UTC.
fn time(seconds: Option<i64>) -> Option<String> {
    let time = DateTime::from_timestamp(seconds?, 0)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn of_a_scope_for_all_types_those_are_named_that_were_left_out() {
        let types = ["Coverage", "Encounter", "Patient"].map(str::to_owned);
        let some = ["launch/patient", "patient/Coverage.read", "patient/Patient.read"];
        assert_eq!(refused("patient/*.read", &some, &types), ["patient/Encounter.read"]);
        assert_eq!(
            refused("patient/*.read", &["launch/patient"], &types),
            ["patient/*.read"]
        );
        assert_eq!(refused("offline_access", &some, &types), ["offline_access"]);
    }
}
