//! Token parameters against Coding, CodeableConcept, Identifier, ContactPoint, codes, strings and booleans.

use super::{mark_items, only_text, type_name};
use crate::fhirpath::{Collection, Items, Typed};
use crate::search::value::TokenValue;

pub(super) fn mark(value: &TokenValue, part: &Typed, rows: &mut [bool]) {
    match type_name(part) {
        "CodeableConcept" => {
            let codings = part.items.child("coding");
            let Some(items) = codings.single() else { return };
            let pairs = Pairs::of(items, "code");
            mark_items(part, rows, |_, concept| {
                codings.range(concept).any(|coding| pairs.matches(value, coding))
            });
        }
        "Coding" => {
            let pairs = Pairs::of(&part.items, "code");
            mark_items(part, rows, |_, coding| pairs.matches(value, coding));
        }
        "Identifier" | "ContactPoint" => {
            let pairs = Pairs::of(&part.items, "value");
            mark_items(part, rows, |_, item| pairs.matches(value, item));
        }
        "boolean" | "Boolean" => {
            let Some(wanted) = value.code.as_deref().and_then(|code| code.parse::<bool>().ok()) else {
                return;
            };
            mark_items(part, rows, |items, item| items.boolean(item) == Some(wanted));
        }
        // A code has no system of its own. One that its element is not bound to never gets here.
        _ => mark_items(part, rows, |items, item| match (items.text(item), &value.code) {
            (Some(text), Some(code)) => text.eq_ignore_ascii_case(code),
            (text, None) => text.is_some(),
            (None, _) => false,
        }),
    }
}

/// System and code of items that have one of each at most.
pub(super) struct Pairs {
    systems: Collection,
    codes: Collection,
}

impl Pairs {
    pub(super) fn of(items: &Items, code: &str) -> Pairs {
        Pairs {
            systems: items.child("system"),
            codes: items.child(code),
        }
    }

    pub(super) fn matches(&self, value: &TokenValue, item: usize) -> bool {
        let code = match &value.code {
            Some(code) => only_text(&self.codes, item).is_some_and(|text| text.eq_ignore_ascii_case(code)),
            None => true,
        };
        code && match value.system.as_deref() {
            None => true,
            Some("") => only_text(&self.systems, item).is_none(),
            Some(system) => only_text(&self.systems, item) == Some(system),
        }
    }
}
