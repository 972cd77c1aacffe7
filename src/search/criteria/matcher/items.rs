//! Reads the items that a program yields, row by row, for matchers of all kinds.

use crate::fhirpath::{Collection, Items, Typed};

/// Sets `rows[row]` for each row with an item for which `hit` returns `true`. Skips rows that are set already.
pub(super) fn mark_items(part: &Typed, rows: &mut [bool], hit: impl Fn(&Items, usize) -> bool) {
    for (row, marked) in rows.iter_mut().enumerate() {
        if !*marked {
            *marked = part.offsets.range(row).any(|item| hit(&part.items, item));
        }
    }
}

/// Returns the text of an element that occurs at most once per row of `elements`.
pub(in crate::search) fn only_text(elements: &Collection, row: usize) -> Option<&str> {
    let range = elements.range(row);
    if range.is_empty() {
        return None;
    }
    let (items, item) = elements.item(range.start);
    items.text(item)
}

/// Returns the name of the items' FHIR type.
pub(super) fn type_name(part: &Typed) -> &'static str {
    part.items.item_type().name()
}
