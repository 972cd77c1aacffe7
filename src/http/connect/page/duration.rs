//! For how long records are shared: one sentence, the same on every page.

use super::super::language::Texts;
use crate::consent::Usage;

/// For how long an application sees the records of a source with this usage.
pub(in crate::http::connect) fn duration(t: &'static Texts, app: &str, usage: Usage) -> String {
    match usage {
        Usage::Multiple => t.fill(t.share_ongoing, app),
        Usage::OneTime => t.fill(t.share_once, app),
    }
}
