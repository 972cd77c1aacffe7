//! Says how long records are shared, in the same words on every page.

use super::super::language::Texts;
use crate::consent::Usage;

/// Returns a sentence about how long the application sees records that are shared with this usage.
pub(in crate::http::connect) fn duration(t: &'static Texts, app: &str, usage: Usage) -> String {
    match usage {
        Usage::Multiple => t.fill(t.share_ongoing, app),
        Usage::OneTime => t.fill(t.share_once, app),
    }
}

/// Returns a few words about how long records are shared with this usage.
pub(in crate::http::connect) fn in_short(t: &'static Texts, usage: Usage) -> &'static str {
    match usage {
        Usage::Multiple => t.share_ongoing_short,
        Usage::OneTime => t.share_once_short,
    }
}
