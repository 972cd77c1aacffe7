//! Uri parameters: the whole URI, character by character.

use super::mark_items;
use crate::fhirpath::Typed;

pub(super) fn mark(uri: &str, part: &Typed, rows: &mut [bool]) {
    mark_items(part, rows, |items, item| items.text(item) == Some(uri));
}
