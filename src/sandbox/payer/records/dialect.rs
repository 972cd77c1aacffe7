//! Decides which searches an organization refuses. Its knobs say which ones. Real sources refuse such searches, too.

use axum::http::StatusCode;

use super::super::office::knobs::Knobs;
use super::super::params::Params;
use super::bundle::has_codes;
use super::row::Row;
use crate::fhir::outcome::IssueType;

/// The search parameters that compare an element with a code. They are accepted only for a person's own records.
pub(in crate::sandbox::payer) const FILTERS: &[&str] = &[
    "category",
    "clinical-status",
    "code",
    "intent",
    "lifecycle-status",
    "status",
];

/// The reason why a search is refused: the status of the answer, and the code and the text of its issue.
pub(in crate::sandbox::payer) struct Refused(
    pub(in crate::sandbox::payer) StatusCode,
    pub(in crate::sandbox::payer) IssueType,
    pub(in crate::sandbox::payer) String,
);

/// Whether a record has a category that the knob `forbid` names for the record's type.
pub(in crate::sandbox::payer) fn is_forbidden(knobs: &Knobs, row: &Row) -> bool {
    let forbidden = knobs.forbid.get(&row.resource_type).into_iter().flatten();
    let mut of_record = forbidden.filter(|category| has_codes(row, &[("category".to_owned(), (*category).clone())]));
    of_record.next().is_some()
}

/// Checks that the knobs allow a search. If not, returns the reason for the refusal.
pub(in crate::sandbox::payer) fn admitted(knobs: &Knobs, resource_type: &str, params: &Params) -> Result<(), Refused> {
    let invalid = |text: String| Err(Refused(StatusCode::BAD_REQUEST, IssueType::Invalid, text));
    let is_named = |types: &[String]| types.iter().any(|one| one == resource_type);
    let status = |status: u16| StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    if knobs.refuse_searches != 0 {
        let text = format!("{resource_type} is not searched like this");
        return Err(Refused(status(knobs.refuse_searches), IssueType::NotSupported, text));
    }
    if knobs.refuse_along != 0 && params.get("_revinclude").is_some() {
        let text = "the search parameter _revinclude is not supported".to_owned();
        return Err(Refused(status(knobs.refuse_along), IssueType::NotSupported, text));
    }
    if is_named(&knobs.unsearchable) || (knobs.provenance_along && resource_type == "Provenance") {
        let text = format!("{resource_type} can be read and not searched");
        return Err(Refused(StatusCode::NOT_FOUND, IssueType::NotSupported, text));
    }
    if let Some(count) = params.get("_count").and_then(|text| text.parse::<u64>().ok()) {
        if knobs.refuse_count {
            return invalid("the search parameter _count is not supported".to_owned());
        }
        if knobs.max_count > 0 && count > knobs.max_count {
            return invalid(format!("_count must be between 1 and {}", knobs.max_count));
        }
    }
    let required = knobs.require.get(resource_type);
    if let Some(required) = required.filter(|required| params.get(required).is_none()) {
        return invalid(format!("a search of {resource_type} needs the parameter {required}"));
    }
    if let Some(forbidden) = knobs.forbid.get(resource_type) {
        let category = params.get("category");
        let category = category.map(|one| one.rsplit('|').next().unwrap_or_default());
        if category.is_none_or(|category| forbidden.iter().any(|one| one == category)) {
            let text = format!("the token's scope does not cover all of {resource_type}");
            return Err(Refused(StatusCode::FORBIDDEN, IssueType::Forbidden, text));
        }
    }
    Ok(())
}
