//! Compares the values of reference parameters with References, and with the canonicals and URIs that a parameter may
//! yield.

use super::super::canonicals::Canonicals;
use super::items::{mark_items, only_text};
use super::token::Pairs;
use crate::columns::conditions::IdSet;
use crate::fhir::reference::Canonical;
use crate::fhir::storage::{REFERENCE_ID, REFERENCE_TYPE};
use crate::fhir::{TypeId, facts};
use crate::fhirpath::Typed;
use crate::search::criteria::targets::{is_of_references, relative};
use crate::search::parameters::values::{ReferenceSet, ReferenceValue, TokenSet, TokenValue};

pub(super) fn mark(value: &ReferenceValue, part: &Typed, rows: &mut [bool]) {
    if !is_of_references(part) {
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
                    (Some(resource_type), Some(id)) => value.is_to(resource_type, id),
                    _ => false,
                }
            });
        }
        // A Reference is compared with the whole text, because a `|` in it does not begin a version. Only canonicals
        // have versions.
        ReferenceValue::Text(wanted) => {
            let texts = part.items.child("reference");
            mark_items(part, rows, |_, item| only_text(&texts, item) == Some(wanted));
        }
    }
}

pub(super) fn mark_targets(type_id: Option<TypeId>, wanted: &IdSet, part: &Typed, rows: &mut [bool]) {
    if !is_of_references(part) {
        // The text may be an id without a type. It matches only if the search names no type, either.
        let is_wanted = |text: &str| match relative(text) {
            Some(target) => type_id.is_none_or(|type_id| type_id == target.type_id) && wanted.contains(target.id),
            None => type_id.is_none() && wanted.contains(Canonical::parse(text).url),
        };
        mark_items(part, rows, |items, item| items.text(item).is_some_and(is_wanted));
        return;
    }
    let resource_type = type_id.map(|type_id| facts().get(type_id).name);
    let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
    mark_items(part, rows, |_, item| {
        only_text(&types, item).is_some_and(|found| resource_type.is_none_or(|resource_type| resource_type == found))
            && only_text(&ids, item).is_some_and(|id| wanted.contains(id))
    });
}

/// Sets `rows[row]` for each row with a canonical that leads to a resource with one of these URLs.
pub(super) fn mark_canonicals(borne: &Canonicals, part: &Typed, rows: &mut [bool]) {
    if !is_of_references(part) {
        mark_items(part, rows, |items, item| {
            items.text(item).is_some_and(|text| borne.lead(text))
        });
    }
}

/// Sets `rows[row]` for each row with a reference whose text is in a set of many references.
pub(super) fn mark_any(set: &ReferenceSet, part: &Typed, rows: &mut [bool]) {
    if !is_of_references(part) {
        mark_items(part, rows, |items, item| {
            items.text(item).is_some_and(|text| set.hold_canonical(text))
        });
        return;
    }
    let texts = part.items.child("reference");
    mark_items(part, rows, |_, item| {
        only_text(&texts, item).is_some_and(|text| set.hold(text))
    });
}

pub(super) fn mark_identifier(value: &TokenValue, part: &Typed, rows: &mut [bool]) {
    mark_identifiers(&|pairs, at| pairs.matches(value, at), part, rows);
}

/// Sets `rows[row]` for each row with an identifier in the set.
pub(super) fn mark_any_identifier(set: &TokenSet, part: &Typed, rows: &mut [bool]) {
    mark_identifiers(&|pairs, at| pairs.are_in(set, at), part, rows);
}

fn mark_identifiers(is: &dyn Fn(&Pairs, usize) -> bool, part: &Typed, rows: &mut [bool]) {
    let identifiers = part.items.child("identifier");
    let Some(items) = identifiers.single() else { return };
    let pairs = Pairs::of(items, "value");
    mark_items(part, rows, |_, item| identifiers.range(item).any(|at| is(&pairs, at)));
}
