//! Uri parameters: the whole URI, character by character.

use super::mark_items;
use crate::fhir::reference::Canonical;
use crate::fhirpath::Typed;

pub(super) fn mark(part: &Typed, rows: &mut [bool], hit: &dyn Fn(&str) -> bool) {
    mark_items(part, rows, |items, item| items.text(item).is_some_and(hit));
}

/// Whether a canonical is of this URL and, where a version is given, of that one or one that goes on from it: `1` of `1.1`.
pub(super) fn is_version_of(canonical: &str, url: &str, version: Option<&str>) -> bool {
    let found = Canonical::parse(canonical);
    let goes_on = |wanted: &str| {
        let rest = found.version.and_then(|found| found.strip_prefix(wanted));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    };
    found.url == url && version.is_none_or(goes_on)
}
