//! What a resource is called, for the display of references to it.
//!
//! A name is a person's name, an element `name` or `title`, or the text of the resource's code. A code may get its display from another
//! record, so such a name is known only when all records were seen.

use rustc_hash::FxHashMap;

use crate::fhir::{TypeId, facts};
use crate::lake::json::Value;
use crate::normalize::codes::Codes;
use crate::normalize::form::displays::Coding;
use crate::normalize::form::systems::RXNORM;
use crate::normalize::form::{self, canonical_code, canonical_system, display_key, unmapped_ndc};
use crate::normalize::marks::{self, PLACEHOLDER};

/// A longer text is no name.
const MAX_LENGTH: usize = 200;

/// The element that names a resource, by type.
const NAMED: &[(&str, &str)] = &[
    ("Patient", "name"),
    ("Practitioner", "name"),
    ("RelatedPerson", "name"),
    ("Person", "name"),
    ("Organization", "name"),
    ("Location", "name"),
    ("HealthcareService", "name"),
    ("CareTeam", "name"),
    ("Endpoint", "name"),
    ("InsurancePlan", "name"),
    ("Group", "name"),
    ("CarePlan", "title"),
    ("Questionnaire", "title"),
    ("Condition", "code"),
    ("Procedure", "code"),
    ("Observation", "code"),
    ("Medication", "code"),
    ("AllergyIntolerance", "code"),
    ("DiagnosticReport", "code"),
    ("ServiceRequest", "code"),
    ("Immunization", "vaccineCode"),
    ("MedicationRequest", "medicationCodeableConcept"),
    ("MedicationStatement", "medicationCodeableConcept"),
    ("MedicationDispense", "medicationCodeableConcept"),
    ("MedicationAdministration", "medicationCodeableConcept"),
    ("DocumentReference", "type"),
    ("Encounter", "type"),
    ("Device", "type"),
    ("Specimen", "type"),
];

/// A name's place among the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u32);

const NONE: Name = Name(0);

/// A name as far as its record tells.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Found {
    /// Codes whose display, if another record has one, goes before the text.
    codes: Box<[u128]>,
    text: Option<Box<str>>,
}

/// All names, each once.
#[derive(Debug, Default)]
pub(super) struct Names {
    places: FxHashMap<Found, Name>,
    texts: Vec<Option<Box<str>>>,
}

impl Names {
    pub(super) fn see(&mut self, json: Value<'_>, ty: TypeId, codes: &dyn Codes) -> Name {
        let Some(found) = name_of(json, ty, codes) else {
            return NONE;
        };
        let next = Name(self.places.len() as u32 + 1);
        *self.places.entry(found).or_insert(next)
    }

    pub(super) fn decide(&mut self, form: &form::Facts) {
        let places = std::mem::take(&mut self.places);
        self.texts = vec![None; places.len() + 1];
        for (found, name) in places {
            let display = found.codes.iter().find_map(|code| form.display(*code)).map(Box::from);
            let text: Option<Box<str>> = display.or(found.text);
            self.texts[name.0 as usize] = text.filter(|text| text.len() <= MAX_LENGTH);
        }
    }

    pub(super) fn text(&self, name: Name) -> Option<&str> {
        self.texts.get(name.0 as usize)?.as_deref()
    }
}

fn name_of(json: Value<'_>, ty: TypeId, codes: &dyn Codes) -> Option<Found> {
    let ty = facts().get(ty).name;
    let (_, element) = NAMED.iter().find(|(of, _)| *of == ty)?;
    let value = json.get(element)?;
    let text = |text: String| Found {
        codes: Box::default(),
        text: Some(text.into()),
    };
    if value.is_string() {
        let is_contributed = json.get(&format!("_{element}")).is_some_and(marks::is_marked);
        let name = value.as_str().filter(|name| !is_contributed && says_something(name))?;
        return Some(text(name.into_owned()));
    }
    if *element == "name" {
        return human(value).map(text);
    }
    let concept = value.items().next().unwrap_or(value);
    concept_name(concept, codes)
}

fn says_something(text: &str) -> bool {
    !text.trim().is_empty() && text != PLACEHOLDER
}

/// A person's official name, else the usual, else the first that is not an old one.
fn human(names: Value<'_>) -> Option<String> {
    let rank = |name: &Value<'_>| match name.get_str("use").as_deref() {
        Some("official") => 0,
        Some("usual") => 1,
        Some("old" | "maiden" | "anonymous") => 3,
        _ => 2,
    };
    let own = names
        .items()
        .filter(|name| name.is_object() && !marks::is_marked(*name));
    let name = own.min_by_key(rank)?;
    if let Some(text) = name.get_str("text").filter(|text| says_something(text)) {
        return Some(text.into_owned());
    }
    let mut words = Vec::new();
    for element in ["prefix", "given", "family", "suffix"] {
        let Some(value) = name.get(element) else { continue };
        words.extend(value.items().chain(Some(value)).filter_map(|word| word.as_str()));
    }
    let text = words.join(" ");
    says_something(&text).then_some(text)
}

/// The text that `form` leaves in a concept: its own, else the first display.
fn concept_name(concept: Value<'_>, codes: &dyn Codes) -> Option<Found> {
    let mut found = Found {
        codes: Box::default(),
        text: None,
    };
    if let Some(text) = concept.get("text") {
        found.text = text
            .as_str()
            .filter(|text| says_something(text))
            .map(|text| text.into_owned().into());
        return found.text.is_some().then_some(found);
    }
    let mut open = Vec::new();
    for item in concept.get("coding")?.items() {
        let coding = Coding::read(item);
        let own = coding.display.clone();
        let named = coding
            .system()
            .zip(coding.code.as_ref())
            .filter(|_| !coding.has_display);
        let known = named.and_then(|(system, (_, code))| {
            let (system, code) = (canonical_system(system), canonical_code(system, code, codes));
            let known = codes.display(system, &code);
            if known.is_none() {
                open.push(display_key(system, &code));
            }
            known
        });
        if let Some(text) = own.or(known) {
            found.text = Some(text.into_owned().into());
            break;
        }
    }
    // RxNorm goes behind the others.
    if found.text.is_none()
        && let Some(ndc) = concept.get("coding").and_then(|list| unmapped_ndc(list, codes))
        && let Some(mapped) = codes.rxnorm(&ndc)
    {
        match mapped.display.or_else(|| codes.display(RXNORM, &mapped.code)) {
            Some(display) => found.text = Some(display.into_owned().into()),
            None => open.push(display_key(RXNORM, &mapped.code)),
        }
    }
    found.codes = open.into();
    (found.text.is_some() || !found.codes.is_empty()).then_some(found)
}
