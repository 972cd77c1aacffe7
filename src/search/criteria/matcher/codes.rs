//! Compares tokens with value sets and hierarchies of code systems: `:in`, `:not-in`, `:below` and `:above`. If the
//! loaded terminology does not tell whether a code belongs to the set or the hierarchy, the code counts as outside.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::items::{mark_items, only_text, type_name};
use super::token::Pairs;
use crate::fhirpath::Typed;
use crate::terminology::{CodeSystem, ValueSet};

/// The work of asking one hierarchy or value set, in the unit of `Matcher::cost`.
pub(super) const OF_CODES: u64 = 16;

/// The codes that a search wants.
#[derive(Clone, Debug)]
pub(in crate::search) struct CodesValue {
    pub(in crate::search) test: CodesTest,
    /// The code system to which R4 binds the compared element, if the element has only a code.
    pub(in crate::search) bound: Option<&'static str>,
}

/// The set of codes in which a code must be.
#[derive(Clone, Debug)]
pub(in crate::search) enum CodesTest {
    /// The codes of a value set.
    In(Arc<ValueSet>),
    /// `code` and the codes below it in one of `systems`. With `above`, `code` and the codes above it.
    Of {
        systems: Vec<Arc<CodeSystem>>,
        code: String,
        above: bool,
    },
}

impl CodesValue {
    fn holds(&self, system: Option<&str>, code: &str) -> bool {
        let found = match (&self.test, system) {
            (CodesTest::In(set), Some(system)) => set.contains(system, code),
            (CodesTest::In(set), None) => set.contains_code(code),
            (
                CodesTest::Of {
                    systems,
                    code: wanted,
                    above,
                },
                _,
            ) => systems
                .iter()
                .filter(|of| system.is_none_or(|system| system == of.url()))
                .map(|of| {
                    if *above {
                        of.subsumes(code, wanted)
                    } else {
                        of.subsumes(wanted, code)
                    }
                })
                .find(|found| *found == Some(true))
                .flatten(),
        };
        found == Some(true)
    }
}

/// Sets `rows[row]` for each row with a matching code.
pub(super) fn mark(values: &[CodesValue], part: &Typed, rows: &mut [bool]) {
    // The same few codes occur many times, so the result for each distinct code is cached.
    let known: RefCell<FxHashMap<(String, String), bool>> = RefCell::default();
    let holds = |system: Option<&str>, code: &str| {
        let key = (system.unwrap_or_default().to_owned(), code.to_owned());
        *known
            .borrow_mut()
            .entry(key)
            .or_insert_with(|| values.iter().any(|value| value.holds(system, code)))
    };
    // All values belong to the same parameter, so they have the same bound code system.
    let bound = values.first().and_then(|value| value.bound);
    let pair = |pairs: &Pairs, item: usize| {
        let code = only_text(&pairs.codes, item);
        code.is_some_and(|code| holds(only_text(&pairs.systems, item), code))
    };
    match type_name(part) {
        "CodeableConcept" => {
            let codings = part.items.child("coding");
            let Some(items) = codings.single() else { return };
            let pairs = Pairs::of(items, "code");
            mark_items(part, rows, |_, concept| {
                codings.range(concept).any(|coding| pair(&pairs, coding))
            });
        }
        "Coding" => {
            let pairs = Pairs::of(&part.items, "code");
            mark_items(part, rows, |_, coding| pair(&pairs, coding));
        }
        "Identifier" | "ContactPoint" => {}
        _ => mark_items(part, rows, |items, item| {
            items.text(item).is_some_and(|code| holds(bound, code))
        }),
    }
}
