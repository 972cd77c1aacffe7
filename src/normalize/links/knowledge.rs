//! Passes values between the copies of one practitioner, organization or location in several sources. Resources of the
//! same type with the same NPI are such copies.
//!
//! A copy gains names, addresses, telecoms and taxonomy codes that only another source has. Where R4 allows only one
//! name or address, a copy gains one only if it has none. Each gained value has an extension that names the resource
//! from which the value comes. Each run of the normalization removes the gained values and adds them again.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::identifiers::Identifier;
use super::index::{EntryIndex, Index};
use crate::columns::json::{Edits, Tape, Value};
use crate::fhir::{TypeId, facts};
use crate::normalize::compact::compact;
use crate::normalize::contributed::add_items;
use crate::normalize::form::displays::Coding;
use crate::normalize::form::systems::NUCC;
use crate::normalize::form::{self, canonical_code, canonical_system};
use crate::normalize::marks::{Base, Origin};
use crate::normalize::record::{Record, SourceId};
use crate::normalize::report::{Report, Rule};
use crate::normalize::settings::Settings;

/// A value whose JSON has more bytes than this is ignored, so that memory is bounded.
const MAX_LENGTH: usize = 2000;
/// The maximum number of values of one copy. Further values are ignored.
const MAX_VALUES: usize = 32;

/// What an element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// A single string.
    Text,
    /// A list of HumanNames.
    Names,
    Telecoms,
    Addresses,
    /// A single Address.
    Address,
    /// A list of CodeableConcepts.
    Concepts,
    /// A list of backbone elements with a `code`.
    Qualifications,
}

/// The elements whose values copies gain from each other, by type.
const ELEMENTS: &[(&str, &[(&str, Holds)])] = &[
    (
        "Practitioner",
        &[
            ("name", Holds::Names),
            ("telecom", Holds::Telecoms),
            ("address", Holds::Addresses),
            ("qualification", Holds::Qualifications),
        ],
    ),
    (
        "Organization",
        &[
            ("name", Holds::Text),
            ("telecom", Holds::Telecoms),
            ("address", Holds::Addresses),
            ("type", Holds::Concepts),
        ],
    ),
    (
        "Location",
        &[
            ("name", Holds::Text),
            ("telecom", Holds::Telecoms),
            ("address", Holds::Address),
            ("type", Holds::Concepts),
        ],
    ),
];

fn elements(type_id: TypeId) -> &'static [(&'static str, Holds)] {
    let name = facts().get(type_id).name;
    ELEMENTS
        .iter()
        .find(|(of, _)| *of == name)
        .map_or(&[], |(_, elements)| elements)
}

/// Whether resources of this type can gain values from their copies.
pub(super) fn is_known(type_id: TypeId) -> bool {
    !elements(type_id).is_empty()
}

/// A value of one copy.
#[derive(Debug)]
struct Known {
    element: &'static str,
    holds: Holds,
    /// A key. Values with equal keys count as equal.
    same: String,
    /// The value as JSON, without its id and extensions. For a qualification, its code alone.
    json: Box<str>,
}

/// A value that a copy gains from another one.
#[derive(Debug)]
pub(super) struct Gain {
    element: &'static str,
    holds: Holds,
    /// The value as JSON. For a qualification, its code alone.
    json: String,
    /// The copy that has the value.
    from: EntryIndex,
}

/// A copy of a practitioner, organization or location, with its values.
type Held = (EntryIndex, Vec<Known>);

/// The copies, by type and NPI.
#[derive(Debug, Default)]
pub(super) struct Knowledge(BTreeMap<(TypeId, String), Vec<Held>>);

impl Knowledge {
    pub(super) fn see(&mut self, record: &Record<'_>, place: EntryIndex) {
        let elements = elements(record.resource_type);
        if elements.is_empty() {
            return;
        }
        let Some(npi) = Identifier::npi(record.json) else {
            return;
        };
        let mut known = Vec::new();
        for (element, holds) in elements {
            let Some(value) = record.json.get(element) else {
                continue;
            };
            for value in value.items().chain((!value.is_array()).then_some(value)) {
                if known.len() < MAX_VALUES
                    && let Some(one) = read(element, *holds, value)
                {
                    known.push(one);
                }
            }
        }
        self.0
            .entry((record.resource_type, npi))
            .or_default()
            .push((place, known));
    }

    /// Returns what each copy gains from the copies in other sources. If several copies have the same value, the first
    /// by source and id counts.
    pub(super) fn decide(
        self,
        index: &Index,
        settings: &Settings<'_>,
        form: &form::Facts,
    ) -> FxHashMap<EntryIndex, Vec<Gain>> {
        let mut gains = FxHashMap::default();
        for (_, mut copies) in self.0 {
            copies.sort_by_cached_key(|(place, _)| (index.source(*place), index.id(*place)));
            for (place, own) in &copies {
                let mut has: BTreeSet<(&str, &str)> = own.iter().map(|one| (one.element, one.same.as_str())).collect();
                // If R4 allows only one value and the copy has one, it must not gain another. The loop below uses an
                // empty key for such elements. So add this key.
                has.extend(
                    own.iter()
                        .filter(|one| is_single(one.holds))
                        .map(|one| (one.element, "")),
                );
                let mut gained: Vec<Gain> = Vec::new();
                for (other, values) in &copies {
                    if index.source(*other) == index.source(*place) {
                        continue;
                    }
                    for value in values {
                        let same = if is_single(value.holds) {
                            ""
                        } else {
                            value.same.as_str()
                        };
                        if has.insert((value.element, same)) {
                            gained.extend(gain(value, *other, index.source(*other), settings, form));
                        }
                    }
                }
                gained.sort_by_key(|gain| gain.element);
                if !gained.is_empty() {
                    gains.insert(*place, gained);
                }
            }
        }
        gains
    }
}

fn is_single(holds: Holds) -> bool {
    matches!(holds, Holds::Text | Holds::Address)
}

fn gain(
    value: &Known,
    from: EntryIndex,
    source: SourceId,
    settings: &Settings<'_>,
    form: &form::Facts,
) -> Option<Gain> {
    let json = match value.holds {
        Holds::Concepts | Holds::Qualifications => concept(&value.json, source, settings, form)?,
        _ => value.json.to_string(),
    };
    Some(Gain {
        element: value.element,
        holds: value.holds,
        json,
        from,
    })
}

/// Rewrites a concept as `form` rewrites it in the concept's own record, which is from `source`.
fn concept(json: &str, source: SourceId, settings: &Settings<'_>, form: &form::Facts) -> Option<String> {
    let type_id = facts().lookup("CodeableConcept")?;
    let mut tape = Tape::new();
    let value = tape.parse(json.as_bytes()).ok()?;
    Some(form::rewrite(value, type_id, form, settings.codes, source))
}

/// Reads a value of an element, and computes its key. Returns `None` if it is empty, too large, or a concept without a
/// taxonomy code.
fn read(element: &'static str, holds: Holds, value: Value<'_>) -> Option<Known> {
    let letters = |text: &str| -> String {
        text.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect()
    };
    let words = |elements: &[&str]| {
        let mut all = String::new();
        for element in elements {
            let Some(value) = value.get(element) else { continue };
            for word in value.items().chain(Some(value)).filter_map(|word| word.as_str()) {
                all += &letters(&word);
            }
            all.push('|');
        }
        all
    };
    let value = match holds {
        Holds::Qualifications => value.get("code")?,
        _ => value,
    };
    let same = match holds {
        Holds::Text => letters(&value.as_str()?),
        Holds::Names => match words(&["given", "family"]) {
            empty if letters(&empty).is_empty() => letters(&value.get_str("text")?),
            words => words,
        },
        Holds::Telecoms => format!(
            "{}|{}",
            value.get_str("system").unwrap_or_default(),
            letters(&value.get_str("value")?)
        ),
        Holds::Addresses | Holds::Address => match words(&["line", "city", "state"]) {
            empty if letters(&empty).is_empty() => letters(&value.get_str("text")?),
            // Postal codes count as equal with and without the last four digits. So the key leaves out these digits.
            words => {
                words
                    + &letters(&value.get_str("postalCode").unwrap_or_default())
                        .chars()
                        .take(5)
                        .collect::<String>()
            }
        },
        Holds::Concepts | Holds::Qualifications => taxonomy(value)?,
    };
    if letters(&same).is_empty() {
        return None;
    }
    let mut edits = Edits::new();
    for (key, value) in value.entries() {
        if matches!(key.raw(), "id" | "extension") {
            edits.omit(value);
        }
    }
    let json = compact(value, &edits);
    (json.len() <= MAX_LENGTH && json != "{}").then(|| Known {
        element,
        holds,
        same,
        json: json.into(),
    })
}

/// Returns the taxonomy code of a concept. Returns `None` for types and qualifications of other code systems.
fn taxonomy(concept: Value<'_>) -> Option<String> {
    let codings = concept.get("coding")?;
    codings.items().find_map(|item| {
        let coding = Coding::read(item);
        let system = coding.system().filter(|system| canonical_system(system) == NUCC)?;
        let (_, code) = coding.code.as_ref()?;
        Some(canonical_code(system, code, &crate::normalize::NoCodes).into_owned())
    })
}

/// Adds the values that a record gains. Each value is marked with the copy from which it comes.
pub(super) fn give(
    root: Value<'_>,
    base: &Base<'_>,
    gains: &[Gain],
    index: &Index,
    edits: &mut Edits,
    report: &mut Report,
) {
    for gains in gains.chunk_by(|one, other| one.element == other.element) {
        let element = gains[0].element;
        let marks = |gain: &Gain| base.marks(Rule::Knowledge, &Origin::Resource(&index.reference(gain.from)));
        let given = match gains[0].holds {
            Holds::Text | Holds::Address => {
                let beside = format!("_{element}");
                let is_open = root.get(element).is_none() && root.get(&beside).is_none();
                for gain in gains.iter().take(usize::from(is_open)) {
                    if gain.holds == Holds::Text {
                        edits.append(root, element, &gain.json);
                        edits.append(root, &beside, &format!("{{\"extension\":[{}]}}", marks(gain)));
                    } else {
                        edits.append(root, element, &gain.marked(&marks(gain)));
                    }
                }
                is_open
            }
            _ => {
                let items: Vec<String> = gains.iter().map(|gain| gain.marked(&marks(gain))).collect();
                add_items(root, element, &items, edits)
            }
        };
        if given {
            report.of(Rule::Knowledge).changed += gains.len() as u64;
        }
    }
}

impl Gain {
    /// Returns the JSON of the value with these extensions.
    fn marked(&self, extensions: &str) -> String {
        match self.holds {
            Holds::Qualifications => format!("{{\"extension\":[{extensions}],\"code\":{}}}", self.json),
            _ => {
                let open = self.json.strip_suffix('}').unwrap_or_default();
                format!("{open},\"extension\":[{extensions}]}}")
            }
        }
    }
}
