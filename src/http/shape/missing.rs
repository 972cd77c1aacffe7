//! Records that a sync could not get, as issues of an OperationOutcome.

use std::sync::Arc;

use crate::consent::{Access, Incomplete, MissingReason};
use crate::fhir::facts;
use crate::fhir::outcome::{Issue, IssueType, Severity};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::search::Note;

/// Returns the severity and the code of an issue about records that are missing for this reason.
pub(in crate::http) fn kind_of(reason: MissingReason) -> (Severity, IssueType) {
    match reason {
        MissingReason::NotServed => (Severity::Warning, IssueType::NotSupported),
        MissingReason::Forbidden => (Severity::Warning, IssueType::Forbidden),
        MissingReason::Failed => (Severity::Error, IssueType::Incomplete),
        MissingReason::NotFound => (Severity::Information, IssueType::NotFound),
        MissingReason::NotAsked => (Severity::Warning, IssueType::Incomplete),
        MissingReason::NotTaken => (Severity::Warning, IssueType::Invalid),
    }
}

/// Returns the remarks for the answers to a patient token: what is known to be missing, one issue for each type and
/// reason, as a warning. An application's token gets none, because its searches find the records of many people.
pub(in crate::http) fn notes(service: &Service, access: &Access) -> Result<Arc<[Note]>, Error> {
    if access.patients().is_none() {
        return Ok(Arc::default());
    }
    let presence = service.store.consents().presence(&access.subject);
    let presence = presence.map_err(Error::internal)?;
    Ok(presence.incomplete.iter().map(note).collect())
}

fn note(incomplete: &Incomplete) -> Note {
    let code = incomplete
        .reason
        .map_or(IssueType::Incomplete, |reason| kind_of(reason).1);
    let text = format!("{}: {}", incomplete.source, incomplete.detail);
    let issue = Issue::new(Severity::Warning, code, text);
    let resource_type = incomplete.resource_type.as_deref();
    Note {
        type_id: resource_type.and_then(|name| facts().lookup(name)),
        issue: match resource_type {
            Some(name) => issue.expression(name),
            None => issue,
        },
    }
}
