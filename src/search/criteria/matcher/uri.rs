//! Compares the values of URI parameters with whole URIs, character by character.

use super::items::mark_items;
use crate::fhir::reference::Canonical;
use crate::fhirpath::Typed;

pub(super) fn mark(part: &Typed, rows: &mut [bool], hit: &dyn Fn(&str) -> bool) {
    mark_items(part, rows, |items, item| items.text(item).is_some_and(hit));
}

/// Whether a canonical has this URL and, if `version` is given, this version or one that extends it: `1.1` extends `1`.
pub(super) fn is_version_of(canonical: &str, url: &str, version: Option<&str>) -> bool {
    let found = Canonical::parse(canonical);
    let of_version = |wanted: &str| found.version.is_some_and(|found| goes_on(found, wanted));
    found.url == url && version.is_none_or(of_version)
}

/// Whether `version` equals `from` or extends it after a dot or a hyphen.
pub(super) fn goes_on(version: &str, from: &str) -> bool {
    let rest = version.strip_prefix(from);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}
