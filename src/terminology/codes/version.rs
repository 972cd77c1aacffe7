//! Canonicals with versions. Decides which of several versions is the newest.

use std::cmp::Ordering;

/// Splits a canonical such as `http://loinc.org|2.76#x` into its URL and its version. The fragment is left out.
pub(in crate::terminology) fn split(canonical: &str) -> (&str, Option<&str>) {
    let canonical = canonical.split('#').next().unwrap_or(canonical);
    match canonical.split_once('|') {
        Some((url, version)) => (url, Some(version)),
        None => (canonical, None),
    }
}

/// Returns the item with this version. Without a version, returns the item with the highest version.
pub(in crate::terminology) fn newest<'a, T>(
    all: &'a [T],
    version: Option<&str>,
    of: impl Fn(&T) -> Option<&str>,
) -> Option<&'a T> {
    match version {
        Some(_) => all.iter().find(|one| of(one) == version),
        None => all.iter().max_by(|one, other| by_version(of(one), of(other))),
    }
}

/// Compares two versions part by part. Dots and hyphens separate the parts. Parts that are numbers are compared as
/// numbers. A missing version is lower than any other version.
fn by_version(one: Option<&str>, other: Option<&str>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else {
        return one.is_some().cmp(&other.is_some());
    };
    let parts = |text: &str| -> Vec<(Option<u64>, String)> {
        text.split(['.', '-'])
            .map(|part| (part.parse().ok(), part.to_string()))
            .collect()
    };
    parts(one).cmp(&parts(other))
}
