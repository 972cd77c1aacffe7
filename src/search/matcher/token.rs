//! Token parameters against Coding, CodeableConcept, Identifier, ContactPoint, codes, strings and booleans.

use super::{mark_items, only_text, string, type_name};
use crate::fhirpath::{Collection, Items, Typed};
use crate::search::value::{TokenSet, TokenValue, TypedIdentifier, fold};

/// The code system that `true` and `false` are of (R4 search, 3.1.1.4.10).
const BOOLEANS: &str = "http://hl7.org/fhir/special-values";

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
            if value
                .system
                .as_deref()
                .is_some_and(|system| !matches!(system, "" | BOOLEANS))
            {
                return;
            }
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

/// The same of many tokens: each item is looked up once.
pub(super) fn mark_any(set: &TokenSet, part: &Typed, rows: &mut [bool]) {
    match type_name(part) {
        "CodeableConcept" => {
            let codings = part.items.child("coding");
            let Some(items) = codings.single() else { return };
            let pairs = Pairs::of(items, "code");
            mark_items(part, rows, |_, concept| {
                codings.range(concept).any(|coding| pairs.are_in(set, coding))
            });
        }
        "Coding" => {
            let pairs = Pairs::of(&part.items, "code");
            mark_items(part, rows, |_, coding| pairs.are_in(set, coding));
        }
        "Identifier" | "ContactPoint" => {
            let pairs = Pairs::of(&part.items, "value");
            mark_items(part, rows, |_, item| pairs.are_in(set, item));
        }
        "boolean" | "Boolean" => mark_items(part, rows, |items, item| {
            let text = items.boolean(item).map(|truth| if truth { "true" } else { "false" });
            text.is_some() && (set.holds(None, text) || set.holds(Some(BOOLEANS), text))
        }),
        _ => mark_items(part, rows, |items, item| {
            items.text(item).is_some_and(|code| set.holds_code(code))
        }),
    }
}

/// `:text`: the text of a concept or the display of a coding, the text of an identifier's type.
pub(super) fn mark_label(text: &str, part: &Typed, rows: &mut [bool]) {
    let hit = |candidate: &str| string::begins(candidate, text);
    let mut mark_child = |items: &Items, name: &str, of: &dyn Fn(usize) -> std::ops::Range<usize>| {
        let labels = items.child(name);
        mark_items(part, rows, |_, item| {
            of(item).any(|at| only_text(&labels, at).is_some_and(hit))
        });
    };
    let itself = |item: usize| item..item + 1;
    match type_name(part) {
        "CodeableConcept" => {
            mark_child(&part.items, "text", &itself);
            let codings = part.items.child("coding");
            if let Some(items) = codings.single() {
                mark_child(items, "display", &|concept| codings.range(concept));
            }
        }
        "Coding" => mark_child(&part.items, "display", &itself),
        "Identifier" => {
            let types = part.items.child("type");
            if let Some(items) = types.single() {
                mark_child(items, "text", &|identifier| types.range(identifier));
            }
        }
        _ => {}
    }
}

/// `:of-type`: the value of an identifier, and a coding of its type.
pub(super) fn mark_typed(value: &TypedIdentifier, part: &Typed, rows: &mut [bool]) {
    if type_name(part) != "Identifier" {
        return;
    }
    let (types, values) = (part.items.child("type"), part.items.child("value"));
    let Some(codings) = types.single().map(|items| items.child("coding")) else {
        return;
    };
    let Some(pairs) = codings.single().map(|items| Pairs::of(items, "code")) else {
        return;
    };
    let wanted = fold(&value.value);
    mark_items(part, rows, |_, item| {
        only_text(&values, item).is_some_and(|text| fold(text) == wanted)
            && types
                .range(item)
                .any(|ty| codings.range(ty).any(|coding| pairs.matches(&value.ty, coding)))
    });
}

/// System and code of items that have one of each at most.
pub(super) struct Pairs {
    pub(super) systems: Collection,
    pub(super) codes: Collection,
}

impl Pairs {
    pub(super) fn of(items: &Items, code: &str) -> Pairs {
        Pairs {
            systems: items.child("system"),
            codes: items.child(code),
        }
    }

    fn are_in(&self, set: &TokenSet, item: usize) -> bool {
        set.holds(only_text(&self.systems, item), only_text(&self.codes, item))
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

/// A media type without its parameters, in lower case: types are compared whatever their case.
pub(super) fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
