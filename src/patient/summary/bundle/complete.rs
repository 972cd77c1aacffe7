//! Completes resources for the IPS profiles: marks missing elements as unknown, and finds the profile to which the
//! completed resource conforms.

use super::super::json::{UNKNOWN, concept};
use super::super::record::Entry;
use super::super::sections::pregnancy;
use crate::columns::json::Value;
use crate::patient::concept::{ABSENT, codings, loinc};
use crate::patient::words;

/// The changes to a resource.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// The properties to add: the name, and the value as JSON.
    pub(super) added: Vec<(&'static str, String)>,
    /// The last part of the URL of the IPS profile to which the completed resource conforms, if any.
    pub(super) profile: Option<&'static str>,
}

/// The base URL of the IPS profiles.
pub(super) const PROFILES: &str = "http://hl7.org/fhir/uv/ips/StructureDefinition/";

/// LOINC codes of Observations about tobacco use. `ALCOHOL` has those about alcohol use.
const TOBACCO: &[&str] = &["72166-2"];
const ALCOHOL: &[&str] = &["74013-4"];

/// Finds the elements that a resource lacks, and the profile to which the resource conforms after they are added.
/// `has_subject` says whether the resource refers to the patient.
pub(super) fn complete(entry: &Entry<'_>, has_subject: bool) -> Completion {
    let mut lack = Lack {
        entry,
        done: Completion::default(),
    };
    let (profile, is_met) = match entry.type_name {
        "AllergyIntolerance" => ("AllergyIntolerance-uv-ips", lack.concept("code") && has_subject),
        "Condition" => ("Condition-uv-ips", lack.concept("code") && has_subject),
        "Device" => ("Device-uv-ips", true),
        "DeviceUseStatement" => {
            let is_timed = lack.choice("timing", "_timingDateTime", &["DateTime", "Period"]);
            ("DeviceUseStatement-uv-ips", is_timed && has_subject)
        }
        "DiagnosticReport" => {
            let is_dated = lack.choice("effective", "_effectiveDateTime", &["DateTime", "Period"]);
            (
                "DiagnosticReport-uv-ips",
                is_dated && lack.concept("code") && has_subject,
            )
        }
        "Immunization" => {
            let is_dated = lack.choice("occurrence", "_occurrenceDateTime", &["DateTime", "String"]);
            (
                "Immunization-uv-ips",
                is_dated && lack.concept("vaccineCode") && has_subject,
            )
        }
        "Medication" => ("Medication-uv-ips", lack.concept("code")),
        "MedicationRequest" => {
            let is_to_be = entry.get("doNotPerform").and_then(|value| value.as_bool()) != Some(true);
            ("MedicationRequest-uv-ips", is_to_be && has_subject)
        }
        "MedicationStatement" => {
            let is_dated = lack.choice("effective", "_effectiveDateTime", &["DateTime", "Period"]);
            ("MedicationStatement-uv-ips", is_dated && has_subject)
        }
        "Observation" => return lack.observation(has_subject),
        "Organization" => ("Organization-uv-ips", lack.text("name", "_name")),
        "Patient" => {
            let is_named = lack.name() && named_throughout(entry);
            ("Patient-uv-ips", lack.text("birthDate", "_birthDate") && is_named)
        }
        "Practitioner" => ("Practitioner-uv-ips", lack.name()),
        "PractitionerRole" => ("PractitionerRole-uv-ips", true),
        "Procedure" => {
            let types = ["DateTime", "Period", "String", "Age", "Range"];
            let is_dated = lack.choice("performed", "_performedDateTime", &types);
            ("Procedure-uv-ips", is_dated && lack.concept("code") && has_subject)
        }
        "Specimen" => {
            let is_whole = entry.get("subject").is_none() || has_subject;
            ("Specimen-uv-ips", lack.concept("type") && is_whole)
        }
        _ => return lack.done,
    };
    lack.done.profile = is_met.then_some(profile);
    lack.done
}

struct Lack<'e, 't> {
    entry: &'e Entry<'t>,
    done: Completion,
}

impl Lack<'_, '_> {
    fn add(&mut self, name: &'static str, json: String) {
        self.done.added.push((name, json));
    }

    /// Adds a CodeableConcept with the data-absent-reason `unknown` if the element is missing. Always returns `true`,
    /// because the resource then meets this condition of its profile.
    fn concept(&mut self, name: &'static str) -> bool {
        if !has(self.entry, name) {
            self.add(name, concept(ABSENT, "unknown", "Unknown"));
        }
        true
    }

    /// Adds the data-absent-reason `unknown` for a missing primitive. Always returns `true`, because the resource then
    /// meets this condition of its profile.
    fn text(&mut self, name: &'static str, companion: &'static str) -> bool {
        if !has(self.entry, name) && !has(self.entry, companion) {
            self.add(companion, extension());
        }
        true
    }

    /// Adds the data-absent-reason `unknown` for a missing choice element. Returns `false` if the element has a value
    /// of a type that is not in `types`, because the profile does not allow such a value.
    fn choice(&mut self, name: &'static str, companion: &'static str, types: &[&str]) -> bool {
        if has(self.entry, companion) {
            return true;
        }
        match words::choice(self.entry.json, name) {
            Some((resource_type, _)) => types.contains(&resource_type),
            None => {
                self.add(companion, extension());
                true
            }
        }
    }

    /// Adds a name with the data-absent-reason `unknown` for a person without names. Always returns `true`, because the
    /// resource then meets this condition of its profile.
    fn name(&mut self) -> bool {
        if !has(self.entry, "name") {
            self.add("name", format!(r#"[{{"_text":{}}}]"#, extension()));
        }
        true
    }

    fn observation(mut self, has_subject: bool) -> Completion {
        let entry = self.entry;
        let code = entry.get("code");
        let (profile, without): (_, &[&str]) = if loinc(code, pregnancy::STATUS).is_some() {
            let without = &[
                "bodySite",
                "specimen",
                "device",
                "referenceRange",
                "hasMember",
                "component",
            ];
            ("Observation-pregnancy-status-uv-ips", without)
        } else if loinc(code, pregnancy::OUTCOMES).is_some() {
            let without = &["bodySite", "specimen", "device", "referenceRange", "component"];
            ("Observation-pregnancy-outcome-uv-ips", without)
        } else if loinc(code, pregnancy::DUE).is_some() {
            let without = &[
                "bodySite",
                "method",
                "specimen",
                "device",
                "referenceRange",
                "component",
            ];
            ("Observation-pregnancy-edd-uv-ips", without)
        } else if loinc(code, TOBACCO).is_some() {
            ("Observation-tobaccouse-uv-ips", &["component"])
        } else if loinc(code, ALCOHOL).is_some() {
            ("Observation-alcoholuse-uv-ips", &["component"])
        } else if entry.has_category(&["laboratory"]) {
            return self.laboratory(has_subject);
        } else {
            return self.done;
        };
        let is_dated = self.choice("effective", "_effectiveDateTime", &["DateTime"]);
        let is_plain = !without.iter().any(|name| has(entry, name));
        // Each profile allows only one type of value.
        let values: &[&str] = match profile {
            "Observation-pregnancy-status-uv-ips" | "Observation-tobaccouse-uv-ips" => &["CodeableConcept"],
            "Observation-pregnancy-edd-uv-ips" => &["DateTime"],
            _ => &["Quantity"],
        };
        let is_valued = words::choice(entry.json, "value").is_none_or(|(type_name, _)| values.contains(&type_name));
        let is_met = is_dated && is_plain && is_valued && has_subject;
        self.done.profile = is_met.then_some(profile);
        self.done
    }

    fn laboratory(mut self, has_subject: bool) -> Completion {
        let entry = self.entry;
        let is_dated = self.choice("effective", "_effectiveDateTime", &["DateTime", "Period"]);
        if !has(entry, "performer") {
            self.add("performer", format!("[{}]", extension()));
        }
        let says = words::choice(entry.json, "value").is_some()
            || ["hasMember", "component", "dataAbsentReason"]
                .iter()
                .any(|name| has(entry, name));
        if !says {
            self.add("dataAbsentReason", concept(ABSENT, "unknown", "Unknown"));
        }
        let components = entry.get("component").into_iter().flat_map(|list| list.items());
        let mut components = components.peekable();
        let is_whole = components.peek().is_none()
            || components.any(|each| words::choice(each, "value").is_some() || each.get("dataAbsentReason").is_some());
        let categories = entry.get("category").into_iter().flat_map(codings);
        let is_of_r4 = categories.into_iter().any(|coding| {
            let system = coding.get_str("system");
            system.as_deref() == Some("http://terminology.hl7.org/CodeSystem/observation-category")
                && coding.get_str("code").as_deref() == Some("laboratory")
        });
        let is_met = is_dated && is_whole && is_of_r4 && has_subject && has(entry, "code");
        self.done.profile = is_met.then_some("Observation-results-laboratory-pathology-uv-ips");
        self.done
    }
}

fn extension() -> String {
    format!(r#"{{"extension":[{UNKNOWN}]}}"#)
}

fn has(entry: &Entry<'_>, name: &str) -> bool {
    entry.get(name).is_some_and(|value| !is_nothing(value))
}

fn is_nothing(value: Value<'_>) -> bool {
    value.is_null()
        || value.is_array() && value.items().next().is_none()
        || value.is_object() && value.entries().next().is_none()
}

/// Whether each of a person's names has a family name, a given name or a text. The Patient profile requires this.
fn named_throughout(entry: &Entry<'_>) -> bool {
    let mut names = entry.get("name").into_iter().flat_map(|list| list.items());
    names.all(|name| ["family", "given", "text"].iter().any(|part| name.get(part).is_some()))
}
