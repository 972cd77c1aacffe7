//! Which records of a patient a source is asked for, and how: the types that the directory lists for it, as far as the granted scopes
//! reach; a patient's own by a search, those of nobody (organizations, practitioners) by the references that lead to them.

use crate::fhir::compartment::patient_params;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::{TypeId, facts};

/// Types asked for where the directory lists none: those of the supported types that have records.
const USUAL: &[&str] = &[
    "AllergyIntolerance",
    "CarePlan",
    "CareTeam",
    "Condition",
    "Coverage",
    "Device",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "ExplanationOfBenefit",
    "Goal",
    "Immunization",
    "InsurancePlan",
    "Location",
    "Medication",
    "MedicationDispense",
    "MedicationRequest",
    "Observation",
    "Organization",
    "Patient",
    "PractitionerRole",
    "Practitioner",
    "Procedure",
    "Provenance",
];

/// What US Core lets a server insist on beside the patient.
const PARTS: &[(&str, &[&str])] = &[
    (
        "Observation",
        &[
            "category=vital-signs",
            "category=laboratory",
            "category=social-history",
            "category=survey",
            "category=imaging",
            "category=procedure",
            "category=exam",
            "category=therapy",
            "category=activity",
            "category=sdoh",
        ],
    ),
    (
        "Condition",
        &[
            "category=problem-list-item",
            "category=encounter-diagnosis",
            "category=health-concern",
        ],
    ),
    ("CarePlan", &["category=assess-plan"]),
    ("CareTeam", &["status=active"]),
    (
        "DiagnosticReport",
        &["category=LAB", "category=RAD", "category=imaging"],
    ),
    ("DocumentReference", &["category=clinical-note"]),
    ("MedicationRequest", &["intent=order", "intent=plan"]),
];

/// Resources of a page, if the source lets us choose.
const PAGE: u32 = 200;

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) searches: Vec<Search>,
    /// Types that are read where a reference leads to them.
    pub(super) referred: Vec<TypeId>,
}

/// A type that is asked for by patient.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) ty: TypeId,
    pub(super) way: Way,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The Patient itself.
    Read(String),
    /// A search, and the narrower ones to make where the source refuses it.
    Search { whole: String, parts: Vec<String> },
}

/// Plans for a patient of a source at `base`, without a trailing slash.
pub(super) fn plan(base: &str, patient: &str, listed: &[String], scope: Option<&str>) -> Plan {
    let usual = USUAL.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let names = if listed.is_empty() { &usual } else { listed };
    let mut plan = Plan::default();
    let mut types: Vec<TypeId> = names
        .iter()
        .filter(|name| scope.is_none_or(|scope| is_granted(scope, name)))
        .filter_map(|name| {
            facts()
                .lookup(name)
                .filter(|ty| facts().resources().any(|one| one == *ty))
        })
        .collect();
    types.sort_unstable_by_key(|ty| facts().get(*ty).name);
    types.dedup();
    for ty in types {
        let name = facts().get(ty).name;
        let id = encoded(patient);
        if name == "Patient" {
            let way = Way::Read(format!("{base}/Patient/{id}"));
            plan.searches.push(Search { ty, way });
        } else if let Some(parameter) = by_patient(ty) {
            let whole = format!("{base}/{name}?{parameter}={id}&_count={PAGE}");
            let parts = PARTS.iter().filter(|(of, _)| *of == name).flat_map(|(_, parts)| *parts);
            let parts = parts.map(|part| format!("{whole}&{part}")).collect();
            let way = Way::Search { whole, parts };
            plan.searches.push(Search { ty, way });
            // Some devices are nobody's.
            if name == "Device" {
                plan.referred.push(ty);
            }
        } else {
            plan.referred.push(ty);
        }
    }
    plan
}

/// The parameter by which a type is searched for a patient.
fn by_patient(ty: TypeId) -> Option<&'static str> {
    if SearchParameters::builtin().get(ty, "patient").is_some() {
        return Some("patient");
    }
    let codes = patient_params(ty);
    ["subject", "beneficiary", "actor"]
        .into_iter()
        .find(|code| codes.contains(code))
}

/// Whether granted scopes reach a type. Where they name no records at all, the source decides.
fn is_granted(scope: &str, ty: &str) -> bool {
    let mut any = false;
    for one in scope.split_ascii_whitespace() {
        let Some((context, rest)) = one.split_once('/') else {
            continue;
        };
        if !matches!(context, "patient" | "user" | "system") {
            continue;
        }
        let Some((name, permission)) = rest.split_once('.') else {
            continue;
        };
        any = true;
        // SMART 1: `read` or `*`; SMART 2: letters of `cruds`, perhaps with a query behind them.
        let letters = permission.split('?').next().unwrap_or_default();
        let reads = matches!(letters, "read" | "*")
            || (letters != "write" && letters.chars().all(|c| "cruds".contains(c)) && letters.contains(['r', 's']));
        if reads && (name == "*" || name == ty) {
            return true;
        }
    }
    !any
}

/// An id as a part of a path or query.
pub(super) fn encoded(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-")
        .replace("%2E", ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
        let name = |ty: &TypeId| facts().get(*ty).name;
        (
            plan.searches.iter().map(|search| name(&search.ty)).collect(),
            plan.referred.iter().map(name).collect(),
        )
    }

    #[test]
    fn scopes_narrow_what_is_asked_for() {
        for (scope, ty, expected) in [
            ("launch/patient patient/*.read", "Observation", true),
            ("patient/*.rs", "Observation", true),
            ("patient/*.*", "Observation", true),
            ("patient/Observation.rs?category=laboratory", "Observation", true),
            ("patient/Patient.read patient/Observation.read", "Condition", false),
            ("patient/Condition.write", "Condition", false),
            ("patient/Condition.cud", "Condition", false),
            ("patient/Condition.c user/Condition.s", "Condition", true),
            ("launch/patient openid", "Condition", true),
            ("", "Condition", true),
        ] {
            assert_eq!(is_granted(scope, ty), expected, "{scope} {ty}");
        }
    }

    #[test]
    fn a_patients_own_records_are_searched_for_and_others_are_referred_to() {
        let listed: Vec<String> = [
            "Patient",
            "Coverage",
            "ExplanationOfBenefit",
            "Organization",
            "Device",
            "Nothing",
        ]
        .map(str::to_owned)
        .to_vec();
        let found = plan("https://payer.example/fhir", "a b", &listed, None);
        assert_eq!(
            names(&found),
            (
                vec!["Coverage", "Device", "ExplanationOfBenefit", "Patient"],
                vec!["Device", "Organization"]
            )
        );
        let Way::Search { whole, parts } = &found.searches[0].way else {
            panic!("{found:?}")
        };
        assert_eq!(whole, "https://payer.example/fhir/Coverage?patient=a%20b&_count=200");
        assert!(parts.is_empty());
        assert_eq!(
            found.searches[3].way,
            Way::Read("https://payer.example/fhir/Patient/a%20b".to_owned())
        );
        let usual = plan(
            "https://payer.example/fhir",
            "p",
            &[],
            Some("patient/Observation.rs patient/Location.rs"),
        );
        assert_eq!(names(&usual), (vec!["Observation"], vec!["Location"]));
        let (searched, referred) = (plan("b", "p", &[], None), ["InsurancePlan", "Location", "Medication"]);
        assert!(referred.iter().all(|name| names(&searched).1.contains(name)));
    }
}
