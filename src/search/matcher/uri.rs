//! Uri parameters: the whole URI, character by character.

use super::mark_items;
use crate::fhirpath::Typed;

pub(super) fn mark(part: &Typed, rows: &mut [bool], hit: &dyn Fn(&str) -> bool) {
    mark_items(part, rows, |items, item| items.text(item).is_some_and(hit));
}
