//! States how long records are shared, in the same sentence on every page.

use super::super::language::Texts;
use crate::consent::Usage;

/// How long an application sees the records of a source with this usage.
pub(in crate::http::connect) fn duration(t: &'static Texts, app: &str, usage: Usage) -> String {
    match usage {
        Usage::Multiple => t.fill(t.share_ongoing, app),
        Usage::OneTime => t.fill(t.share_once, app),
    }
}
