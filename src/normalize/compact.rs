//! JSON without white space.

use crate::columns::json::{Edits, Value, write_compact};

/// Returns a value as compact JSON, with edits.
pub(super) fn compact(value: Value<'_>, edits: &Edits) -> String {
    let mut out = Vec::with_capacity(value.span().len());
    write_compact(value, &mut out, edits);
    String::from_utf8(out).unwrap_or_default()
}
