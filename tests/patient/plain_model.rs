//! The results of `$everything` by a plain reading of JSON: all resources are visited for each Patient, and all members
//! of the Patient's compartment for each request. Its tables of compartments, dates and references were written from
//! R4's pages, independently of the program's.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;
use tabularium::fhir::temporal::Temporal;

use super::name;

/// R4's CompartmentDefinition/patient: by type, the elements that name the Patients of a resource.
const COMPARTMENT: &[(&str, &[&str])] = &[
    ("Account", &["subject"]),
    ("AdverseEvent", &["subject"]),
    ("AllergyIntolerance", &["patient", "recorder", "asserter"]),
    ("Appointment", &["participant.actor"]),
    ("AppointmentResponse", &["actor"]),
    ("AuditEvent", &["agent.who", "entity.what"]),
    ("Basic", &["subject", "author"]),
    ("BodyStructure", &["patient"]),
    ("CarePlan", &["subject", "activity.detail.performer"]),
    ("CareTeam", &["subject", "participant.member"]),
    ("ChargeItem", &["subject"]),
    ("Claim", &["patient", "payee.party"]),
    ("ClaimResponse", &["patient"]),
    ("ClinicalImpression", &["subject"]),
    ("Communication", &["subject", "sender", "recipient"]),
    ("CommunicationRequest", &["subject", "sender", "recipient", "requester"]),
    ("Composition", &["subject", "author", "attester.party"]),
    ("Condition", &["subject", "asserter"]),
    ("Consent", &["patient"]),
    ("Coverage", &["policyHolder", "subscriber", "beneficiary", "payor"]),
    ("CoverageEligibilityRequest", &["patient"]),
    ("CoverageEligibilityResponse", &["patient"]),
    ("DetectedIssue", &["patient"]),
    ("DeviceRequest", &["subject", "performer"]),
    ("DeviceUseStatement", &["subject"]),
    ("DiagnosticReport", &["subject"]),
    ("DocumentManifest", &["subject", "author", "recipient"]),
    ("DocumentReference", &["subject", "author"]),
    ("Encounter", &["subject"]),
    ("EnrollmentRequest", &["candidate"]),
    ("EpisodeOfCare", &["patient"]),
    ("ExplanationOfBenefit", &["patient", "payee.party"]),
    ("FamilyMemberHistory", &["patient"]),
    ("Flag", &["subject"]),
    ("Goal", &["subject"]),
    ("Group", &["member.entity"]),
    ("ImagingStudy", &["subject"]),
    ("Immunization", &["patient"]),
    ("ImmunizationEvaluation", &["patient"]),
    ("ImmunizationRecommendation", &["patient"]),
    ("Invoice", &["subject", "recipient"]),
    ("List", &["subject", "source"]),
    ("MeasureReport", &["subject"]),
    ("Media", &["subject"]),
    ("MedicationAdministration", &["subject", "performer.actor"]),
    ("MedicationDispense", &["subject", "receiver"]),
    ("MedicationRequest", &["subject"]),
    ("MedicationStatement", &["subject"]),
    ("MolecularSequence", &["patient"]),
    ("NutritionOrder", &["patient"]),
    ("Observation", &["subject", "performer"]),
    ("Patient", &["link.other"]),
    ("Person", &["link.target"]),
    ("Procedure", &["subject", "performer.actor"]),
    ("Provenance", &["target"]),
    ("QuestionnaireResponse", &["subject", "author"]),
    ("RelatedPerson", &["patient"]),
    ("RequestGroup", &["subject", "action.participant"]),
    ("ResearchSubject", &["individual"]),
    ("RiskAssessment", &["subject"]),
    ("Schedule", &["actor"]),
    ("ServiceRequest", &["subject", "performer"]),
    ("Specimen", &["subject"]),
    ("SupplyDelivery", &["patient"]),
    ("SupplyRequest", &["deliverTo"]),
    ("VisionPrescription", &["patient"]),
];

/// By type, the element with the clinical date or the date of the request; for a choice, its date types. The
/// compartment's types without one are in [`UNDATED`]; the real records have no others.
const DATES: &[(&str, &[&str])] = &[
    ("AdverseEvent", &["date"]),
    ("AllergyIntolerance", &["recordedDate"]),
    ("CarePlan", &["period"]),
    ("CareTeam", &["period"]),
    ("Claim", &["created"]),
    ("CommunicationRequest", &["authoredOn"]),
    ("Condition", &["onsetDateTime", "onsetPeriod"]),
    ("Consent", &["dateTime"]),
    ("DeviceRequest", &["authoredOn"]),
    ("DiagnosticReport", &["effectiveDateTime", "effectivePeriod"]),
    ("DocumentReference", &["date"]),
    ("Encounter", &["period"]),
    ("ExplanationOfBenefit", &["created"]),
    ("FamilyMemberHistory", &["date"]),
    ("Goal", &["startDate"]),
    ("ImagingStudy", &["started"]),
    ("Immunization", &["occurrenceDateTime"]),
    ("Media", &["createdDateTime", "createdPeriod"]),
    ("MedicationAdministration", &["effectiveDateTime", "effectivePeriod"]),
    ("MedicationDispense", &["whenHandedOver"]),
    ("MedicationRequest", &["authoredOn"]),
    ("MedicationStatement", &["effectiveDateTime", "effectivePeriod"]),
    ("NutritionOrder", &["dateTime"]),
    (
        "Observation",
        &["effectiveDateTime", "effectivePeriod", "effectiveInstant"],
    ),
    ("Procedure", &["performedDateTime", "performedPeriod"]),
    ("QuestionnaireResponse", &["authored"]),
    ("ServiceRequest", &["authoredOn"]),
    (
        "Specimen",
        &["collection.collectedDateTime", "collection.collectedPeriod"],
    ),
    ("VisionPrescription", &["dateWritten"]),
];

/// Types that are always included, because R4 has no search parameter over their date of care.
const UNDATED: &[&str] = &[
    "AuditEvent",
    "BodyStructure",
    "Coverage",
    "DeviceUseStatement",
    "Group",
    "MolecularSequence",
    "Patient",
    "Provenance",
    "RelatedPerson",
    "SupplyDelivery",
];

/// Types that are included because a member refers to them.
const REFERRED: &[&str] = &["Location", "Medication", "Organization", "Practitioner"];

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub(super) start: Option<&'static str>,
    pub(super) end: Option<&'static str>,
    pub(super) types: &'static [&'static str],
    /// Whole seconds as microseconds since 1970.
    pub(super) since: Option<i64>,
}

impl Asked {
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("start", self.start), ("end", self.end)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if !self.types.is_empty() {
            query.append_pair("_type", &self.types.join(","));
        }
        if let Some(since) = self.since {
            let text = tabularium::fhir::temporal::instant_text(since).unwrap();
            query.append_pair("_since", &text);
        }
        query.finish()
    }
}

pub(super) fn type_of(name: &str) -> &str {
    name.split('/').next().unwrap()
}

/// The values at a path of elements.
fn at<'v>(resource: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut items = vec![resource];
    for step in path.split('.') {
        let found = items.into_iter().filter_map(|item| item.get(step));
        items = found
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                value => vec![value],
            })
            .collect();
    }
    items
}

/// All relative references in a resource, as `Type/id`.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => {
            if let Some(text) = members.get("reference").and_then(Value::as_str)
                && !text.contains(':')
            {
                let parts: Vec<&str> = text.split('/').take(2).collect();
                found.insert(parts.join("/"));
            }
            members.values().for_each(|member| references(member, found));
        }
        _ => {}
    }
}

/// The interval of a date or period.
fn interval(value: &Value) -> Option<(i64, i64)> {
    let of = |text: &str| Temporal::date_time(text).ok().map(|time| (time.start, time.end));
    match value {
        Value::String(text) => of(text),
        Value::Object(period) => {
            let end = |name: &str| period.get(name).and_then(Value::as_str);
            let (start, until) = (end("start"), end("end"));
            if start.is_none() && until.is_none() {
                return None;
            }
            let start = start.map_or(Some(i64::MIN), |text| of(text).map(|time| time.0))?;
            Some((start, until.map_or(Some(i64::MAX), |text| of(text).map(|time| time.1))?))
        }
        _ => None,
    }
}

/// A resource and the time when it was stored.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) resource: Value,
    pub(super) last_updated: i64,
    /// The Patient that it is filed under.
    pub(super) patient: Option<String>,
}

/// All resources, by `Type/id`.
pub(super) struct Plain {
    pub(super) records: BTreeMap<String, Read>,
    /// The references of each resource.
    references: BTreeMap<String, BTreeSet<String>>,
    /// The names of the members of each Patient's compartment that was asked for.
    compartments: RefCell<BTreeMap<String, Rc<Vec<String>>>>,
}

/// The names of members and of referenced resources.
pub(super) type Found = (BTreeSet<String>, BTreeSet<String>);

impl Plain {
    pub(super) fn new(records: BTreeMap<String, Read>) -> Plain {
        let of = |read: &Read| {
            let mut found = BTreeSet::new();
            references(&read.resource, &mut found);
            found
        };
        Plain {
            references: records.iter().map(|(name, read)| (name.clone(), of(read))).collect(),
            records,
            compartments: RefCell::default(),
        }
    }

    fn compartment(&self, patient: &str) -> Rc<Vec<String>> {
        let mut compartments = self.compartments.borrow_mut();
        let found = compartments.entry(patient.to_owned()).or_insert_with(|| {
            let members = self
                .records
                .iter()
                .filter(|(_, read)| self.is_member(&read.resource, patient));
            Rc::new(members.map(|(name, _)| name.clone()).collect())
        });
        Rc::clone(found)
    }

    fn is_member(&self, resource: &Value, patient: &str) -> bool {
        let wanted = format!("Patient/{patient}");
        if name(resource) == wanted {
            return true;
        }
        let resource_type = resource["resourceType"].as_str().unwrap();
        let Some((_, paths)) = COMPARTMENT.iter().find(|(name, _)| *name == resource_type) else {
            return false;
        };
        let mut found = paths.iter().flat_map(|path| at(resource, path));
        found.any(|reference| {
            let text = reference["reference"].as_str().unwrap_or_default();
            text == wanted || text.starts_with(&format!("{wanted}/"))
        })
    }

    fn is_then(&self, resource: &Value, asked: &Asked) -> bool {
        let name = resource["resourceType"].as_str().unwrap();
        let Some((_, paths)) = DATES.iter().find(|(of, _)| *of == name) else {
            assert!(UNDATED.contains(&name), "is there a clinical date of {name}?");
            return true;
        };
        let values = paths.iter().flat_map(|path| at(resource, path));
        let times: Vec<(i64, i64)> = values.filter_map(interval).collect();
        let bound = |text: &str| Temporal::date_time(text).map(|time| (time.start, time.end)).unwrap();
        let within = |(start, end): (i64, i64), (from, until): (i64, i64)| start >= from && end <= until;
        let from = asked
            .start
            .map(bound)
            .is_none_or(|bound| times.iter().any(|time| time.1 > bound.1 || within(*time, bound)));
        let until = asked
            .end
            .map(bound)
            .is_none_or(|bound| times.iter().any(|time| time.0 < bound.0 || within(*time, bound)));
        from && until
    }

    /// The members of a patient's record and the referenced resources, for a caller that may not see `hidden` ones.
    pub(super) fn everything(&self, patient: &str, asked: &Asked, hidden: &BTreeSet<String>) -> Found {
        let is_new = |name: &String| asked.since.is_none_or(|since| self.records[name].last_updated >= since);
        let compartment = self.compartment(patient);
        let members = compartment
            .iter()
            .filter(|name| !hidden.contains(*name) && self.is_then(&self.records[*name].resource, asked));
        let members: Vec<String> = members.cloned().collect();
        let new: Vec<String> = members.iter().filter(|name| is_new(name)).cloned().collect();
        // All references of a new record are included; of old records, only those to new resources.
        let mut referred = self.referred(&members, hidden);
        referred.retain(|name| is_new(name));
        referred.extend(self.referred(&new, hidden));
        let is_shown = |name: &String| asked.types.is_empty() || asked.types.contains(&type_of(name));
        (
            new.into_iter().filter(is_shown).collect(),
            referred.into_iter().filter(is_shown).collect(),
        )
    }

    /// The references of these, and their references in turn.
    fn referred(&self, names: &[String], hidden: &BTreeSet<String>) -> BTreeSet<String> {
        let mut referred = BTreeSet::new();
        let mut next: Vec<String> = names.to_vec();
        while let Some(name) = next.pop() {
            for name in &self.references[&name] {
                let is_shown = self.records.contains_key(name) && !hidden.contains(name);
                if REFERRED.contains(&type_of(name)) && is_shown && referred.insert(name.clone()) {
                    next.push(name.clone());
                }
            }
        }
        referred
    }
}
