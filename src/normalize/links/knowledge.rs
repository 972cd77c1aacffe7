//! What the copies of one practitioner, organization or location in several sources tell each other. The same NPI makes them the same.
//!
//! A copy gains names, addresses, telecoms and taxonomy that only another source has, marked with where they come from. Where R4 has
//! one name or address only, it is gained where there is none. Each run takes out what was gained and makes it anew.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::identifiers::Identifier;
use super::index::{Index, Place};
use crate::fhir::{TypeId, facts};
use crate::lake::json::{Edits, Tape, Value};
use crate::normalize::contributed::settle;
use crate::normalize::form::displays::Coding;
use crate::normalize::form::systems::NUCC;
use crate::normalize::form::{self, canonical_code, canonical_system, compact};
use crate::normalize::marks::{self, known_from, mark};
use crate::normalize::record::Record;
use crate::normalize::report::{Report, Rule};
use crate::normalize::survey::Settings;

/// A larger value is not kept, which bounds memory.
const MAX_LENGTH: usize = 2000;
/// Most values of one copy that are kept.
const MAX_VALUES: usize = 32;

/// What an element holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    /// A text, one.
    Text,
    /// A list of HumanNames.
    Names,
    Telecoms,
    Addresses,
    /// One Address.
    Address,
    /// A list of CodeableConcepts.
    Concepts,
    /// A list of backbones with a `code`.
    Qualifications,
}

/// What copies tell each other, by type.
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

fn elements(ty: TypeId) -> &'static [(&'static str, Holds)] {
    let name = facts().get(ty).name;
    ELEMENTS
        .iter()
        .find(|(of, _)| *of == name)
        .map_or(&[], |(_, elements)| elements)
}

/// Whether copies of this type tell each other something.
pub(super) fn is_known(ty: TypeId) -> bool {
    !elements(ty).is_empty()
}

/// A value that a copy has.
#[derive(Debug)]
struct Known {
    element: &'static str,
    holds: Holds,
    /// What makes two values the same.
    same: String,
    /// As the source wrote it, without id and extensions.
    json: Box<str>,
}

/// What a record gains.
#[derive(Debug)]
pub(super) struct Gain {
    element: &'static str,
    /// The value with its mark; of a text, the text.
    json: String,
    /// Of a text, the property with its mark.
    mark: String,
}

/// A copy of a practitioner, an organization or a location, and its values.
type Held = (Place, Vec<Known>);

/// The copies, by type and NPI.
#[derive(Debug, Default)]
pub(super) struct Knowledge(BTreeMap<(TypeId, String), Vec<Held>>);

impl Knowledge {
    pub(super) fn see(&mut self, record: &Record<'_>, place: Place) {
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
            let is_contributed = match holds {
                Holds::Text => record.json.get(&format!("_{element}")).is_some_and(marks::is_marked),
                _ => false,
            };
            let values = value.items().chain((!value.is_array()).then_some(value));
            for value in values.filter(|value| !is_contributed && !marks::is_marked(*value)) {
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

    /// What each copy gains, from the others in order of source and id.
    pub(super) fn decide(
        self,
        index: &Index,
        settings: &Settings<'_>,
        form: &form::Facts,
    ) -> FxHashMap<Place, Vec<Gain>> {
        let mut gains = FxHashMap::default();
        for (_, mut copies) in self.0 {
            copies.sort_by_cached_key(|(place, _)| (index.source(*place), index.id(*place)));
            for (place, own) in &copies {
                let mut has: BTreeSet<(&str, &str)> = own.iter().map(|one| (one.element, one.same.as_str())).collect();
                // Where R4 has one value, any of the copy's own stands.
                has.extend(
                    own.iter()
                        .filter(|one| is_single(one.holds))
                        .map(|one| (one.element, "")),
                );
                let mut gained = Vec::new();
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
                            gained.extend(gain(value, *place, *other, index, settings, form));
                        }
                    }
                }
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
    place: Place,
    other: Place,
    index: &Index,
    settings: &Settings<'_>,
    form: &form::Facts,
) -> Option<Gain> {
    let base = &settings.sources.get(index.source(place).0 as usize)?.tag_system_base;
    let extensions = format!(
        r#""extension":[{},{}]"#,
        mark(base, Rule::Knowledge),
        known_from(base, &index.reference(other))
    );
    let (json, mark) = match value.holds {
        Holds::Text => (value.json.to_string(), format!("{{{extensions}}}")),
        Holds::Concepts => {
            let concept = concept(&value.json, base, settings, form)?;
            (format!("{},{extensions}}}", concept.strip_suffix('}')?), String::new())
        }
        Holds::Qualifications => {
            let concept = concept(&value.json, base, settings, form)?;
            (format!(r#"{{{extensions},"code":{concept}}}"#), String::new())
        }
        _ => (
            format!("{},{extensions}}}", value.json.strip_suffix('}')?),
            String::new(),
        ),
    };
    Some(Gain {
        element: value.element,
        json,
        mark,
    })
}

/// A concept in the form in which it is stored, so that it is the same before and after its own record was normalized.
fn concept(json: &str, base: &str, settings: &Settings<'_>, form: &form::Facts) -> Option<String> {
    let ty = facts().lookup("CodeableConcept")?;
    let mut tape = Tape::new();
    let value = tape.parse(json.as_bytes()).ok()?;
    Some(form::rewrite(value, ty, form, settings.codes, base))
}

/// Takes in a value, with what makes it the same as another.
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
            // A postal code with and without its last four digits is one.
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

/// The taxonomy code of a concept; other types and qualifications are not told.
fn taxonomy(concept: Value<'_>) -> Option<String> {
    let codings = concept.get("coding")?;
    codings.items().find_map(|item| {
        let coding = Coding::read(item);
        let system = coding.system().filter(|system| canonical_system(system) == NUCC)?;
        let (_, code) = coding.code.as_ref()?;
        Some(canonical_code(system, code, &crate::normalize::NoCodes).into_owned())
    })
}

/// Makes what a record gains; what it gained before and is no longer due goes.
pub(super) fn give(root: Value<'_>, ty: TypeId, gains: &[Gain], edits: &mut Edits, report: &mut Report) {
    let elements = elements(ty);
    if elements.is_empty() || (gains.is_empty() && !marks::may_stand_in(root)) {
        return;
    }
    for (element, holds) in elements {
        let due = || gains.iter().filter(|gain| gain.element == *element);
        let is_changed = match holds {
            Holds::Text => text(root, element, due().next(), edits),
            Holds::Address => address(root, element, due().next(), edits),
            _ => {
                let wanted: Vec<&str> = due().map(|gain| gain.json.as_str()).collect();
                settle(root, element, is_ours, &wanted, edits)
            }
        };
        if is_changed {
            report.of(Rule::Knowledge).changed += due().count().max(1) as u64;
        }
    }
}

fn is_ours(value: Value<'_>) -> bool {
    marks::marked_by(value).is_some_and(|rule| rule == Rule::Knowledge.name())
}

/// Makes a gained text, which is marked beside it.
fn text(root: Value<'_>, element: &str, gain: Option<&Gain>, edits: &mut Edits) -> bool {
    let beside = format!("_{element}");
    let mark = root.get(&beside);
    let is_gained = mark.is_some_and(is_ours);
    let own = root.get(element);
    let is_same = gain.is_some_and(|gain| {
        own.is_some_and(|own| own.raw() == gain.json)
            && mark.is_some_and(|mark| compact(mark, &Edits::new()) == gain.mark)
    });
    if is_same || (!is_gained && (gain.is_none() || own.is_some() || mark.is_some())) {
        return false;
    }
    for value in own.into_iter().chain(mark) {
        edits.omit(value);
    }
    if let Some(gain) = gain {
        edits.append(root, element, &gain.json);
        edits.append(root, &beside, &gain.mark);
    }
    true
}

/// Makes a gained address where R4 has one.
fn address(root: Value<'_>, element: &str, gain: Option<&Gain>, edits: &mut Edits) -> bool {
    let own = root.get(element);
    let is_gained = own.is_some_and(is_ours);
    match (own, gain) {
        (Some(own), Some(gain)) if compact(own, &Edits::new()) == gain.json => false,
        (Some(own), Some(gain)) if is_gained => {
            edits.replace(own, gain.json.as_str());
            true
        }
        (Some(own), None) if is_gained => {
            edits.omit(own);
            true
        }
        (None, Some(gain)) => {
            edits.append(root, element, &gain.json);
            true
        }
        _ => false,
    }
}
