//! Decides which references of a record point to a resource of the document, and what happens to the others.
//!
//! A document is self-contained. If the target of a reference is in the document, the reference leads to the target's
//! entry. If it is not, a display replaces the reference. So that references have targets, the document also gets
//! authors and performers, medicines, specimens, results and members, devices, and goals of plans.

use rustc_hash::FxHashSet;

use super::json::quoted;
use super::record::{Chart, Entry};
use crate::columns::json::{Edits, Value};
use crate::fhir::facts;
use crate::fhir::reference::Reference;
use crate::patient::concept::has_any;
use crate::patient::words;

/// Elements whose references are followed: their targets are added to the document.
const FOLLOWED: &[&str] = &[
    "author",
    "recorder",
    "requester",
    "performer",
    "actor",
    "medicationReference",
    "itemReference",
    "specimen",
    "result",
    "hasMember",
    "device",
    "manipulated",
];

/// Elements whose references are followed in one resource type only: the type and the element. A PractitionerRole needs
/// its practitioner and organization, and a CarePlan needs its goals.
const FOLLOWED_IN: &[(&str, &str)] = &[
    ("PractitionerRole", "practitioner"),
    ("PractitionerRole", "organization"),
    ("CarePlan", "goal"),
];

/// Types of resources that may be added because others refer to them.
const BROUGHT: &[&str] = &[
    "CareTeam",
    "Condition",
    "Device",
    "Goal",
    "Medication",
    "Observation",
    "Organization",
    "Practitioner",
    "PractitionerRole",
    "RelatedPerson",
    "Specimen",
];

/// Calls `visit` for each Reference inside a value, with the property that holds it, the Reference, and its `reference`
/// string.
fn each<'t>(property: &'t str, value: Value<'t>, visit: &mut impl FnMut(&'t str, Value<'t>, Value<'t>)) {
    for item in value.items() {
        each(property, item, visit);
    }
    if !value.is_object() {
        return;
    }
    if let Some(text) = value.get("reference").filter(Value::is_string) {
        visit(property, value, text);
    }
    for (key, inner) in value.entries() {
        if inner.is_object() || inner.is_array() {
            each(key.raw(), inner, visit);
        }
    }
}

fn is_followed(type_name: &str, property: &str) -> bool {
    FOLLOWED.contains(&property) || FOLLOWED_IN.contains(&(type_name, property))
}

/// Whether a record may be added because another record refers to it. Its type must be in `BROUGHT`, and it must not be
/// about another person, refuted or entered in error. A Goal must also be active.
fn may_come(chart: &Chart<'_>, at: usize) -> bool {
    let entry = &chart.entries[at];
    let is_wrong = entry.is_one("status", &["entered-in-error"])
        || has_any(entry.get("verificationStatus"), &["entered-in-error", "refuted"])
        || entry.type_name == "Goal" && !entry.is_one("lifecycleStatus", &["active"]);
    BROUGHT.contains(&entry.type_name) && chart.is_about_patient(at) && !is_wrong
}

/// Returns `roots`, then the records to which their followed references lead, then the records to which those refer,
/// and so on. Each record comes once. Records that `may_come` refuses are left out.
pub(super) fn reach(chart: &Chart<'_>, roots: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut seen = FxHashSet::default();
    let mut reached: Vec<usize> = roots.into_iter().filter(|at| seen.insert(*at)).collect();
    let mut next = 0;
    while let Some(at) = reached.get(next).copied() {
        next += 1;
        let entry = &chart.entries[at];
        each("", entry.json, &mut |property, _, text| {
            let target = text.as_str().and_then(|text| chart.find(&text));
            if let Some(target) = target
                && is_followed(entry.type_name, property)
                && may_come(chart, target)
                && seen.insert(target)
            {
                reached.push(target);
            }
        });
    }
    reached
}

/// Rewrites a record's references. A reference to a record in `kept` gets the `fullUrl` of its entry. A reference to
/// one of the patient's Patients counts as a reference to `patient`. Any other reference loses its address and has a
/// display instead. References to contained resources stay.
pub(super) fn settle(chart: &Chart<'_>, entry: &Entry<'_>, patient: usize, kept: &FxHashSet<usize>, edits: &mut Edits) {
    each("", entry.json, &mut |_, reference, text| {
        let Some(address) = text.as_str() else { return };
        if address.starts_with('#') {
            return;
        }
        let target = if chart.is_patient(&address) {
            Some(patient)
        } else {
            chart.find(&address)
        };
        match target.filter(|target| kept.contains(target)) {
            Some(target) => edits.replace_str(text, &chart.full_url(target)),
            None => {
                edits.omit(text);
                if words::text(reference.get("display")).is_none() {
                    if let Some(empty) = reference.get("display") {
                        edits.omit(empty);
                    }
                    let known = target.and_then(|target| words::name(chart.entries[target].json));
                    edits.append(reference, "display", &quoted(&known.unwrap_or_else(|| kind(&address))));
                }
            }
        }
    });
}

/// Returns the display for a target whose name is not known: its type, or "Not in this summary" if the address names no
/// type.
fn kind(address: &str) -> String {
    let name = match Reference::parse(address) {
        Reference::Relative(target) | Reference::Absolute { target, .. } => target.type_name(),
        Reference::Conditional { type_id, .. } => facts().get(type_id).name,
        _ => "Not in this summary",
    };
    name.to_owned()
}
