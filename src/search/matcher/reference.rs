//! Reference parameters against References, and canonicals and URIs where a parameter yields those.

use super::token::Pairs;
use super::{mark_items, only_text, type_name};
use crate::fhir::storage::{REFERENCE_ID, REFERENCE_TYPE};
use crate::fhir::{TypeId, facts};
use crate::fhirpath::Typed;
use crate::lake::scan::IdSet;
use crate::search::value::{ReferenceValue, TokenValue};

pub(super) fn mark(value: &ReferenceValue, part: &Typed, rows: &mut [bool]) {
    if type_name(part) != "Reference" {
        mark_items(part, rows, |items, item| {
            items.text(item).is_some_and(|text| value.is_text(text))
        });
        return;
    }
    match value {
        ReferenceValue::Relative { .. } => {
            let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
            mark_items(part, rows, |_, item| {
                match (only_text(&types, item), only_text(&ids, item)) {
                    (Some(ty), Some(id)) => value.is_to(ty, id),
                    _ => false,
                }
            });
        }
        // What stands behind a `|` is a version in canonicals alone.
        ReferenceValue::Text(wanted) => {
            let texts = part.items.child("reference");
            mark_items(part, rows, |_, item| only_text(&texts, item) == Some(wanted));
        }
    }
}

pub(super) fn mark_targets(ty: Option<TypeId>, wanted: &IdSet, part: &Typed, rows: &mut [bool]) {
    let ty = ty.map(|ty| facts().get(ty).name);
    let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
    mark_items(part, rows, |_, item| {
        only_text(&types, item).is_some_and(|found| ty.is_none_or(|ty| ty == found))
            && only_text(&ids, item).is_some_and(|id| wanted.contains(id))
    });
}

pub(super) fn mark_identifier(value: &TokenValue, part: &Typed, rows: &mut [bool]) {
    let identifiers = part.items.child("identifier");
    let Some(items) = identifiers.single() else { return };
    let pairs = Pairs::of(items, "value");
    mark_items(part, rows, |_, item| {
        identifiers.range(item).any(|at| pairs.matches(value, at))
    });
}
