//! Plans the requests for a patient's records at a source: for the types that the directory lists and the scopes grant.
//! The patient's own records are searched. Resources of other granted types, such as organizations and practitioners,
//! are read when a record refers to them. The source's statement shows what it supports. Without a statement,
//! everything is tried.

use crate::consent::RetryTarget;
use crate::fhir::compartment::patient_params;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::{TypeId, facts};
use crate::sync::client::Statement;

/// The types that are searched if the directory lists none.
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

/// Types whose resources contain other resources. They are not fetched, because the checks here would not see the
/// resources inside.
const WRAPPERS: &[&str] = &["Bundle", "Parameters"];

/// What is known about a source before records are requested.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known<'k> {
    /// The types that the directory lists. If it is empty, the types in `USUAL` are searched.
    pub(super) listed: &'k [String],
    /// The granted scopes. With `None`, all types count as granted.
    pub(super) scope: Option<&'k str>,
    pub(super) statement: Option<&'k Statement>,
}

/// The requests of a job.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) searches: Vec<Search>,
    /// The granted types. Records of other types are not stored.
    pub(super) granted: Vec<TypeId>,
    /// The granted types whose resources may be read by id. Patient is not among them, and neither are the types that
    /// the source's statement lists without reading.
    pub(super) readable: Vec<TypeId>,
    /// The granted types that the source's statement does not list.
    pub(super) unlisted: Vec<TypeId>,
    /// `Type/id` of records that are read although no record refers to them.
    pub(super) reads: Vec<String>,
    /// Whether the plan is only what a retry asks for.
    pub(super) is_part: bool,
}

/// A type that is fetched for the patient.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) type_id: TypeId,
    pub(super) way: Way,
    pub(super) listing: Listing,
}

/// Who lists the search for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// The source's statement. Also used if the source has no statement with types.
    Source,
    /// The directory. The source's statement lacks the type, or a search parameter for the patient.
    Directory,
    /// Neither the source's statement nor the directory. The type is one of the usual ones.
    Nowhere,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The resource is the Patient. It is read by its id.
    Read,
    /// The type is searched by this parameter, with the Patient's id.
    Search(&'static str),
}

impl Search {
    /// Whether this search is for the type with this name.
    pub(super) fn is(&self, name: &str) -> bool {
        facts().get(self.type_id).name == name
    }
}

/// Makes the plan for a patient of a source. It searches the types that the directory lists and the patient granted.
/// The source's statement shows how. Types that the statement lacks are tried, too. The Patient is read, if it was
/// granted. Resources of granted types are also read if a record refers to them.
pub(super) fn plan(known: Known<'_>) -> Plan {
    let usual = USUAL.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let names = if known.listed.is_empty() { &usual } else { known.listed };
    let statement = known.statement.filter(|statement| statement.tells_types());
    let name = |type_id: TypeId| facts().get(type_id).name;
    let mut granted: Vec<TypeId> = facts()
        .resources()
        .filter(|type_id| known.scope.is_none_or(|scope| is_granted(scope, name(*type_id))))
        .filter(|type_id| !WRAPPERS.contains(&name(*type_id)))
        .collect();
    granted.sort_unstable_by_key(|type_id| name(*type_id));
    let served = |type_id: TypeId| statement.map(|statement| statement.types.get(name(type_id)));
    let of_granted = |so: &dyn Fn(TypeId) -> bool| {
        granted
            .iter()
            .copied()
            .filter(|type_id| so(*type_id))
            .collect::<Vec<_>>()
    };
    let mut plan = Plan {
        readable: of_granted(&|type_id| {
            name(type_id) != "Patient" && served(type_id).flatten().is_none_or(|served| served.read)
        }),
        unlisted: of_granted(&|type_id| served(type_id).is_some_and(|served| served.is_none())),
        ..Plan::default()
    };
    let beside = if known.listed.is_empty() {
        Listing::Nowhere
    } else {
        Listing::Directory
    };
    for type_id in &granted {
        let type_id = *type_id;
        if name(type_id) == "Patient" {
            let (way, listing) = (Way::Read, Listing::Source);
            plan.searches.push(Search { type_id, way, listing });
            continue;
        }
        if !names.iter().any(|one| one == name(type_id)) {
            continue;
        }
        let (parameters, listing) = match served(type_id) {
            None => (&[] as &[String], Listing::Source),
            Some(None) => (&[] as &[String], beside),
            Some(Some(served)) if served.search => (served.parameters.as_slice(), Listing::Source),
            Some(Some(_)) => continue,
        };
        // The statement's list of parameters may be incomplete, so the usual parameter is tried as well.
        let found = by_patient(type_id, parameters).map(|parameter| (parameter, listing));
        let found = found.or_else(|| Some((by_patient(type_id, &[])?, Listing::Directory)));
        if let Some((parameter, listing)) = found {
            let way = Way::Search(parameter);
            plan.searches.push(Search { type_id, way, listing });
        }
    }
    plan.granted = granted;
    plan
}

impl Plan {
    /// Reduces the plan to what a retry asks for. A record of a type that cannot be read is searched for with all of
    /// its type.
    pub(super) fn only(mut self, targets: &[RetryTarget]) -> Plan {
        let readable = |name: &str| {
            facts()
                .lookup(name)
                .is_some_and(|type_id| self.readable.contains(&type_id))
        };
        let (reads, searches): (Vec<_>, Vec<_>) = targets
            .iter()
            .partition(|target| target.source_id.is_some() && readable(&target.resource_type));
        let reads = reads.into_iter().filter_map(|target| {
            let id = target.source_id.as_deref()?;
            Some(format!("{}/{id}", target.resource_type))
        });
        self.reads = reads.collect();
        self.is_part = true;
        self.searches
            .retain(|search| searches.iter().any(|target| search.is(&target.resource_type)));
        self
    }
}

/// Returns the parameter that searches a type by patient. If `named` is not empty, only parameters in `named` are
/// allowed.
fn by_patient(type_id: TypeId, named: &[String]) -> Option<&'static str> {
    let admitted = |code: &&str| named.is_empty() || named.iter().any(|one| one == code);
    let of_patient = SearchParameters::builtin().get(type_id, "patient").map(|_| "patient");
    if let Some(code) = of_patient.filter(admitted) {
        return Some(code);
    }
    let codes = patient_params(type_id);
    ["subject", "beneficiary", "actor"]
        .into_iter()
        .filter(admitted)
        .find(|code| codes.contains(code))
}

/// Whether scopes grant a type. Without any scope for records, all types count as granted, and the source decides.
fn is_granted(scope: &str, resource_type: &str) -> bool {
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
        let permission = permission.split('?').next().unwrap_or_default();
        if permits_reading(permission) && (name == "*" || name == resource_type) {
            return true;
        }
    }
    !any
}

/// Whether the permission of a scope, without its query, includes reads or searches. SMART 1 has `read`, `write` and
/// `*`, SMART 2 has letters of `cruds`.
pub(super) fn permits_reading(permission: &str) -> bool {
    let has_letters = permission.chars().all(|letter| "cruds".contains(letter));
    matches!(permission, "read" | "*") || has_letters && permission.contains(['r', 's'])
}

/// Percent-encodes an id for a path or a query.
pub(super) fn encoded(id: &str) -> String {
    percent_encoding::utf8_percent_encode(id, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-")
        .replace("%2E", ".")
        .replace("%5F", "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(plan: &Plan) -> Vec<(&str, &str)> {
        let searches = plan.searches.iter().map(|search| {
            let query = match &search.way {
                Way::Read => "",
                Way::Search(parameter) => parameter,
            };
            (facts().get(search.type_id).name, query)
        });
        searches.collect()
    }

    fn readable(plan: &Plan, name: &str) -> bool {
        plan.readable.iter().any(|type_id| facts().get(*type_id).name == name)
    }

    #[test]
    fn scopes_narrow_what_is_asked_for() {
        for (scope, resource_type, expected) in [
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
            assert_eq!(is_granted(scope, resource_type), expected, "{scope} {resource_type}");
        }
    }

    #[test]
    fn a_patients_own_records_are_searched_for_and_others_are_referred_to() {
        let listed = ["Coverage", "ExplanationOfBenefit", "Organization", "Device", "Nothing"].map(str::to_owned);
        let known = Known {
            listed: &listed,
            ..Known::default()
        };
        let found = plan(known);
        let expected = [
            ("Coverage", "patient"),
            ("Device", "patient"),
            ("ExplanationOfBenefit", "patient"),
            ("Patient", ""),
        ];
        assert_eq!(searched(&found), expected);
        assert!(
            ["Organization", "Medication", "Encounter"]
                .iter()
                .all(|name| readable(&found, name))
        );
        assert!(!readable(&found, "Patient") && !readable(&found, "Bundle"));
        let known = Known {
            scope: Some("patient/Observation.rs patient/Location.rs"),
            ..Known::default()
        };
        let usual = plan(known);
        assert_eq!(searched(&usual), [("Observation", "patient")]);
        assert!(readable(&usual, "Location") && !readable(&usual, "Organization"));
    }

    #[test]
    fn a_statement_says_what_can_be_asked() {
        let mut statement = Statement::default();
        let mut serve = |name: &str, search, read, parameters: &[&str]| {
            let served = statement.types.entry(name.to_owned()).or_default();
            (served.search, served.read) = (search, read);
            served.parameters = parameters.iter().map(|one| (*one).to_owned()).collect();
        };
        serve("Coverage", true, true, &["beneficiary"]);
        serve("ExplanationOfBenefit", true, false, &[]);
        serve("Goal", true, true, &["_id"]);
        serve("Provenance", false, true, &[]);
        let known = Known {
            statement: Some(&statement),
            ..Known::default()
        };
        let found = plan(known);
        let listed = |listing: Listing| {
            let searches = found.searches.iter().filter(|search| search.listing == listing);
            let searches = searches.map(|search| match &search.way {
                Way::Read => facts().get(search.type_id).name.to_owned(),
                Way::Search(query) => format!("{}?{query}", facts().get(search.type_id).name),
            });
            searches.collect::<Vec<String>>()
        };
        let expected = ["Coverage?beneficiary", "ExplanationOfBenefit?patient", "Patient"];
        assert_eq!(listed(Listing::Source), expected);
        // Statements are often incomplete. This one lacks parameters and types.
        assert_eq!(listed(Listing::Directory), ["Goal?patient"]);
        let others = listed(Listing::Nowhere);
        assert!(others.contains(&"Condition?patient".to_owned()), "{others:?}");
        assert!(!others.iter().any(|one| one.starts_with("Provenance")), "{others:?}");
        assert!(readable(&found, "Goal") && !readable(&found, "ExplanationOfBenefit"));
        assert!(readable(&found, "Practitioner"));
        let is_unlisted = |name: &str| found.unlisted.iter().any(|type_id| facts().get(*type_id).name == name);
        assert!(is_unlisted("Practitioner") && !is_unlisted("Goal"));
    }
}
