//! The name of a resource. References to the resource get it as their display.
//!
//! The name is a person's name, an element `name` or `title`, or the text of a code. Another record may have the
//! display of the code, so such a name is known only after all records were seen.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::columns::json::Value;
use crate::fhir::{TypeId, facts};
use crate::normalize::codes::Codes;
use crate::normalize::form::displays::{Coding, Shown};
use crate::normalize::form::systems::RXNORM;
use crate::normalize::form::{self, canonical_code, canonical_system, display_key, unmapped_ndc};
use crate::normalize::marks::PLACEHOLDER;
use crate::normalize::record::{Record, SourceId};

/// A text with more bytes than this is not used as a name.
const MAX_LENGTH: usize = 200;

/// The element with the name of a resource, by type.
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

/// The index of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u32);

const NONE: Name = Name(0);

/// What a record says about its own name. The name may also depend on displays in other records.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Found {
    /// Codes that may have a display in other records. A display of the record's own source comes before `text`. A
    /// display of another source is used only without `text`.
    codes: Box<[u128]>,
    /// The source of the record, if there are codes.
    source: Option<SourceId>,
    text: Option<Box<str>>,
}

impl Found {
    fn of_text(text: Box<str>) -> Found {
        Found {
            codes: Box::default(),
            source: None,
            text: Some(text),
        }
    }

    /// Returns the name. If it is a display of another source than the record's own, also returns that source.
    fn resolve(self, form: &form::Facts) -> Option<(Box<str>, Option<SourceId>)> {
        let mut shown = None;
        if let Some(source) = self.source {
            for code in &self.codes {
                shown = Shown::either(shown, form.display(*code, source));
            }
        }
        let own = self.text.map(|text| Shown::own(Cow::Owned(text.into())));
        let shown = Shown::either(shown, own)?;
        Some((shown.text.into_owned().into(), shown.from))
    }
}

/// All names. Equal names are stored once.
#[derive(Debug, Default)]
pub(super) struct Names {
    places: FxHashMap<Found, Name>,
    texts: Vec<Option<(Box<str>, Option<SourceId>)>>,
}

impl Names {
    pub(super) fn see(&mut self, record: &Record<'_>, codes: &dyn Codes) -> Name {
        let Some(mut found) = name_of(record.json, record.resource_type, codes) else {
            return NONE;
        };
        if !found.codes.is_empty() {
            found.source = Some(record.source);
        }
        let next = Name(self.places.len() as u32 + 1);
        *self.places.entry(found).or_insert(next)
    }

    pub(super) fn decide(&mut self, form: &form::Facts) {
        let places = std::mem::take(&mut self.places);
        self.texts = vec![None; places.len() + 1];
        for (found, name) in places {
            let text = found.resolve(form).filter(|(text, _)| text.len() <= MAX_LENGTH);
            self.texts[name.0 as usize] = text;
        }
    }

    /// Returns the text of a name. If the text is from another source than the resource, also returns that source.
    pub(super) fn text(&self, name: Name) -> Option<(&str, Option<SourceId>)> {
        let (text, from) = self.texts.get(name.0 as usize)?.as_ref()?;
        Some((text, *from))
    }
}

fn name_of(json: Value<'_>, type_id: TypeId, codes: &dyn Codes) -> Option<Found> {
    let resource_type = facts().get(type_id).name;
    let (_, element) = NAMED.iter().find(|(of, _)| *of == resource_type)?;
    let value = json.get(element)?;
    if value.is_string() {
        let name = value.as_str().filter(|name| says_something(name))?;
        return Some(Found::of_text(name.into()));
    }
    if *element == "name" {
        return human(value).map(|name| Found::of_text(name.into()));
    }
    let concept = value.items().next().unwrap_or(value);
    concept_name(concept, codes)
}

fn says_something(text: &str) -> bool {
    !text.trim().is_empty() && text != PLACEHOLDER
}

/// Returns a person's official name or, if there is none, the usual one. If there is neither, returns the first other
/// name. Uses a former or anonymous name only if there is no other name.
fn human(names: Value<'_>) -> Option<String> {
    let rank = |name: &Value<'_>| match name.get_str("use").as_deref() {
        Some("official") => 0,
        Some("usual") => 1,
        Some("old" | "maiden" | "anonymous") => 3,
        _ => 2,
    };
    let name = names.items().filter(Value::is_object).min_by_key(rank)?;
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

/// Returns the text that a concept has after the rules of `form`: its own text, or the first display of a coding.
fn concept_name(concept: Value<'_>, codes: &dyn Codes) -> Option<Found> {
    if let Some(text) = concept.get("text") {
        let text = text.as_str().filter(|text| says_something(text))?;
        return Some(Found::of_text(text.into()));
    }
    let mut found = Found {
        codes: Box::default(),
        source: None,
        text: None,
    };
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
    // `form` adds an RxNorm coding after the other codings. If the other codings have no display, the display of the
    // RxNorm coding is the text.
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
