//! Writes a record as an entry of the document: settles its references, completes missing elements, and states its
//! profile.

use rustc_hash::FxHashSet;

use super::super::json::{quoted, reference};
use super::super::record::{Chart, Entry};
use super::super::references::settle;
use super::complete::{PROFILES, complete};
use crate::columns::json::{Edits, Value, write_compact};
use crate::fhir::narrative;

/// Types of resources that must refer to the patient in an IPS document.
const ABOUT_PATIENT: &[&str] = &[
    "AllergyIntolerance",
    "CarePlan",
    "ClinicalImpression",
    "Condition",
    "Consent",
    "DeviceUseStatement",
    "DiagnosticReport",
    "DocumentReference",
    "Goal",
    "Immunization",
    "MedicationDispense",
    "MedicationRequest",
    "MedicationStatement",
    "Observation",
    "Procedure",
];

/// The context for writing entries.
#[derive(Debug)]
pub(super) struct Writer<'w, 't> {
    pub(super) chart: &'w Chart<'t>,
    /// The index of the primary Patient in the chart.
    pub(super) patient: usize,
    /// The indexes of the records in the document.
    pub(super) kept: &'w FxHashSet<usize>,
}

impl Writer<'_, '_> {
    /// Appends a record to `out` as an entry. Returns whether the record conforms to an IPS profile after its
    /// completion.
    pub(super) fn entry(&self, at: usize, out: &mut Vec<u8>) -> bool {
        let (chart, entry) = (self.chart, &self.chart.entries[at]);
        let mut edits = Edits::new();
        settle(chart, entry, self.patient, self.kept, &mut edits);
        let has_subject = self.subject(entry, &mut edits);
        let completion = complete(entry, has_subject);
        for (name, json) in &completion.added {
            // If the property is there as an empty list or object, remove it, because the addition replaces it.
            if let Some(empty) = entry.get(name) {
                edits.omit(empty);
            }
            edits.append(entry.json, name, json);
        }
        if let Some(links) = entry.get("link").filter(|_| at == self.patient) {
            // Remove the links to the Patients of other sources, because this Patient represents them in the document.
            edits.omit(links);
        }
        narratives(entry, &mut edits);
        profile(entry, completion.profile, &mut edits);
        out.extend_from_slice(format!(r#"{{"fullUrl":{},"resource":"#, quoted(&chart.full_url(at))).as_bytes());
        write_compact(entry.json, out, &edits);
        out.push(b'}');
        completion.profile.is_some()
    }

    /// If a record of a type in `ABOUT_PATIENT` has no reference to its subject, makes it refer to the patient. Returns
    /// whether the record then refers to the patient.
    fn subject(&self, entry: &Entry<'_>, edits: &mut Edits) -> bool {
        let name = entry.subject_name();
        let subject = entry.get(name);
        let text = subject.and_then(|subject| subject.get_str("reference"));
        if let Some(text) = text {
            return self.chart.is_patient(&text);
        }
        if !ABOUT_PATIENT.contains(&entry.type_name) {
            return false;
        }
        let patient = self.chart.full_url(self.patient);
        match subject.filter(Value::is_object) {
            Some(subject) => edits.append(subject, "reference", &quoted(&patient)),
            None => edits.append(entry.json, name, &reference(&patient)),
        }
        true
    }
}

/// Removes narratives that R4 does not permit from a record and its contained resources, because viewers show
/// narratives unchecked.
fn narratives(entry: &Entry<'_>, edits: &mut Edits) {
    let contained = entry.get("contained").into_iter().flat_map(|list| list.items());
    for resource in contained.chain([entry.json]) {
        let Some(text) = resource.get("text") else { continue };
        let div = text.get_str("div");
        if div.is_none_or(|div| narrative::check(&div).is_err()) {
            edits.omit(text);
        }
    }
}

/// Adds the IPS profile to which the record conforms, if any, and removes all other IPS profiles.
fn profile(entry: &Entry<'_>, met: Option<&str>, edits: &mut Edits) {
    let json = met.map(|name| quoted(&format!("{PROFILES}{name}")));
    let Some(meta) = entry.get("meta").filter(Value::is_object) else {
        if let Some(json) = json {
            edits.append(entry.json, "meta", &format!(r#"{{"profile":[{json}]}}"#));
        }
        return;
    };
    let Some(list) = meta.get("profile").filter(Value::is_array) else {
        if let Some(json) = json {
            edits.append(meta, "profile", &format!("[{json}]"));
        }
        return;
    };
    let of_ips = |item: &Value<'_>| item.as_str().is_some_and(|url| url.starts_with(PROFILES));
    let others = list.items().filter(|item| !of_ips(item)).count();
    if others == 0 && json.is_none() {
        edits.omit(list);
        return;
    }
    list.items().filter(of_ips).for_each(|item| edits.omit(item));
    if let Some(json) = json {
        edits.push(list, &json);
    }
}
