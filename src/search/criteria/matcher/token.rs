//! Compares the values of token parameters with Coding, CodeableConcept, Identifier, ContactPoint, codes, strings and
//! booleans.

use super::items::{mark_items, only_text, type_name};
use crate::fhir::case::{fold_case, same_but_for_case};
use crate::fhirpath::{Collection, Items, Typed};
use crate::search::parameters::values::{SentMap, TokenSet, TokenValue, TypedIdentifier, TypedSet, fold};

/// The code system of `true` and `false` (R4 search, 3.1.1.4.10).
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
        // An element of type `code` has no system of its own. If it is bound to a system, `bind` has already replaced
        // tokens of other systems.
        _ => mark_items(part, rows, |items, item| match (items.text(item), &value.code) {
            (Some(text), Some(code)) => same_but_for_case(text, code),
            (text, None) => text.is_some(),
            (None, _) => false,
        }),
    }
}

/// Sets `rows[row]` for each row with one of many tokens. Each item is looked up in the set, instead of compared with
/// each token.
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

/// Finds which of many tokens an item has. Each token has a number, which the caller chooses.
#[derive(Debug, Default)]
pub(in crate::search) struct TokenIndex {
    /// The tokens with a code, by their folded code.
    codes: SentMap<Box<str>, BySystem>,
    /// The tokens without a code, by their system. They match all codes of the system.
    systems: SentMap<Box<str>, usize>,
}

#[derive(Debug, Default)]
struct BySystem {
    any: Option<usize>,
    /// The numbers of the tokens with a system, by system. The empty string means no system.
    of: SentMap<Box<str>, usize>,
}

impl TokenIndex {
    /// Adds a token and returns its number: `next`, or the earlier number if the index already has the token.
    pub(in crate::search) fn insert(&mut self, token: &TokenValue, next: usize) -> usize {
        let system = token.system.as_deref();
        match (&token.code, system) {
            (Some(code), None) => {
                let of_code = self.codes.entry(fold_case(code).into()).or_default();
                *of_code.any.get_or_insert(next)
            }
            (Some(code), Some(system)) => {
                let of_code = self.codes.entry(fold_case(code).into()).or_default();
                *of_code.of.entry(system.into()).or_insert(next)
            }
            (None, system) => *self.systems.entry(system.unwrap_or_default().into()).or_insert(next),
        }
    }

    /// Calls `found` for each item that has one of the tokens, with the item's row and the token's number.
    pub(in crate::search) fn each(&self, part: &Typed, mut found: impl FnMut(usize, usize)) {
        let mut pair = |pairs: &Pairs, row: usize, item: usize| {
            let system = only_text(&pairs.systems, item).unwrap_or_default();
            self.systems
                .get(system)
                .into_iter()
                .for_each(|token| found(row, *token));
            let code = only_text(&pairs.codes, item).map(fold_case);
            if let Some(of_code) = code.and_then(|code| self.codes.get(&*code)) {
                let tokens = of_code.any.iter().chain(of_code.of.get(system));
                tokens.for_each(|token| found(row, *token));
            }
        };
        let rows = 0..part.offsets.rows();
        match type_name(part) {
            "CodeableConcept" => {
                let codings = part.items.child("coding");
                let Some(items) = codings.single() else { return };
                let pairs = Pairs::of(items, "code");
                for row in rows {
                    let codings = part.offsets.range(row).flat_map(|concept| codings.range(concept));
                    codings.for_each(|coding| pair(&pairs, row, coding));
                }
            }
            "Coding" | "Identifier" | "ContactPoint" => {
                let code = if type_name(part) == "Coding" { "code" } else { "value" };
                let pairs = Pairs::of(&part.items, code);
                for row in rows {
                    part.offsets.range(row).for_each(|item| pair(&pairs, row, item));
                }
            }
            // The item is a plain code or a boolean. A plain code has no system, so it matches tokens of any system. A
            // boolean matches only tokens without a system or with the system of booleans.
            name => {
                let is_boolean = matches!(name, "boolean" | "Boolean");
                for row in rows {
                    for item in part.offsets.range(row) {
                        let truth = part
                            .items
                            .boolean(item)
                            .map(|truth| if truth { "true" } else { "false" });
                        let Some(code) = truth.or_else(|| part.items.text(item)) else {
                            continue;
                        };
                        if let Some(of_code) = self.codes.get(&*fold_case(code)) {
                            let of_system = |system: &str| !is_boolean || matches!(system, "" | BOOLEANS);
                            let of = of_code.of.iter().filter(|(system, _)| of_system(system));
                            let tokens = of_code.any.iter().chain(of.map(|(_, token)| token));
                            tokens.for_each(|token| found(row, *token));
                        }
                        if !is_boolean {
                            self.systems.values().for_each(|token| found(row, *token));
                        }
                    }
                }
            }
        }
    }
}

/// Sets `rows[row]` for each row with a matching label (`:text`): the text of a concept, the display of a coding, or
/// the text of an identifier's type.
pub(super) fn mark_label(hit: &dyn Fn(&str) -> bool, part: &Typed, rows: &mut [bool]) {
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

/// Sets `rows[row]` for each row with an identifier that has this value and a type with this coding (`:of-type`).
pub(super) fn mark_typed(value: &TypedIdentifier, part: &Typed, rows: &mut [bool]) {
    let wanted = fold(&value.value);
    let of_value = |text: &str| (fold(text) == wanted).then_some(&value.identifier_type);
    mark_identifiers(
        &of_value,
        &|pairs, identifier_type, coding| pairs.matches(identifier_type, coding),
        part,
        rows,
    );
}

/// Sets `rows[row]` for each row with one of many identifiers (`:of-type`). Each identifier is looked up in the set,
/// instead of compared with each one.
pub(super) fn mark_any_typed(set: &TypedSet, part: &Typed, rows: &mut [bool]) {
    let of_value = |text: &str| set.types(text);
    mark_identifiers(
        &of_value,
        &|pairs, types, coding| pairs.are_in(types, coding),
        part,
        rows,
    );
}

/// Sets `rows[row]` for each row with an identifier whose type has a requested coding. `of_value` returns the codings
/// that are requested for an identifier's value.
fn mark_identifiers<'t, T>(
    of_value: &dyn Fn(&str) -> Option<&'t T>,
    is: &dyn Fn(&Pairs, &T, usize) -> bool,
    part: &Typed,
    rows: &mut [bool],
) {
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
    mark_items(part, rows, |_, item| {
        let wanted = only_text(&values, item).and_then(of_value);
        wanted.is_some_and(|wanted| {
            let mut types = types.range(item);
            types.any(|identifier_type| codings.range(identifier_type).any(|coding| is(&pairs, wanted, coding)))
        })
    });
}

/// The systems and codes of items. An item has at most one system and at most one code. The code of an Identifier or a
/// ContactPoint is its `value`.
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

    pub(super) fn are_in(&self, set: &TokenSet, item: usize) -> bool {
        set.holds(only_text(&self.systems, item), only_text(&self.codes, item))
    }

    pub(super) fn matches(&self, value: &TokenValue, item: usize) -> bool {
        let code = match &value.code {
            Some(code) => only_text(&self.codes, item).is_some_and(|text| same_but_for_case(text, code)),
            None => true,
        };
        code && match value.system.as_deref() {
            None => true,
            Some("") => only_text(&self.systems, item).is_none(),
            Some(system) => only_text(&self.systems, item) == Some(system),
        }
    }
}

/// Returns a media type without its parameters, in lower case, because media types are compared without regard to case.
pub(super) fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
