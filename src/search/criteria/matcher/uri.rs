//! Uri parameters: the whole URI, character by character.

use super::mark_items;
use crate::fhir::reference::Canonical;
use crate::fhirpath::Typed;

pub(super) fn mark(part: &Typed, rows: &mut [bool], hit: &dyn Fn(&str) -> bool) {
    mark_items(part, rows, |items, item| items.text(item).is_some_and(hit));
}

/// Whether a canonical is of this URL and, where a version is given, of that one or one that goes on from it: `1` of
/// `1.1`.
pub(super) fn is_version_of(canonical: &str, url: &str, version: Option<&str>) -> bool {
    let found = Canonical::parse(canonical);
    let of_version = |wanted: &str| found.version.is_some_and(|found| goes_on(found, wanted));
    found.url == url && version.is_none_or(of_version)
}

/// Whether a version is another or goes on from it.
pub(super) fn goes_on(version: &str, from: &str) -> bool {
    let rest = version.strip_prefix(from);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}
