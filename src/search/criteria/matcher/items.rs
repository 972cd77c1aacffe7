//! The items that a program yields, row by row, as matchers of every type read them.

use crate::fhirpath::{Collection, Items, Typed};

/// Marks the rows with an item for which `hit` returns `true`. Skips rows that are marked already.
pub(super) fn mark_items(part: &Typed, rows: &mut [bool], hit: impl Fn(&Items, usize) -> bool) {
    for (row, marked) in rows.iter_mut().enumerate() {
        if !*marked {
            *marked = part.offsets.range(row).any(|item| hit(&part.items, item));
        }
    }
}

/// The text of an element that occurs at most once per row of `elements`.
pub(in crate::search) fn only_text(elements: &Collection, row: usize) -> Option<&str> {
    let range = elements.range(row);
    if range.is_empty() {
        return None;
    }
    let (items, item) = elements.item(range.start);
    items.text(item)
}

/// The FHIR type name of a part's items.
pub(super) fn type_name(part: &Typed) -> &'static str {
    part.items.item_type().name()
}
