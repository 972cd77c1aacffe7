//! Filing: decides which person a resource belongs to.
//!
//! A Patient belongs to itself. Any other resource belongs to the Patient that it refers to. These references count:
//!
//! 1. The root elements `subject`, `patient` and `beneficiary`, and `securityContext` of a Binary.
//! 2. If none of these refers to a person, the elements of the type's Patient compartment parameters.
//!
//! There are three results:
//!
//! * All references to people are relative references to the same Patient. The resource belongs to that Patient.
//! * There are references to several Patients, or to a person whose Patient is unknown, for example by an absolute URL.
//!   Only the application sees the resource.
//! * There are no references to people. The resource is shared. But a Binary whose `securityContext` refers to another
//!   resource gets the owner of that resource.
//!
//! `lake::owners::owner` computes owner numbers.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::columns::json::Value;
use crate::fhir::compartment::patient_params;
use crate::fhir::reference::Reference;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::{TypeId, facts};

/// The element of a Binary that refers to its person or to another resource.
const CONTEXT: &str = "securityContext";

/// The result of filing a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Filing {
    /// The resource belongs to the Patient with this id.
    Person(String),
    /// The resource is a Binary that gets the owner of the resource with this type and id.
    As(TypeId, String),
    /// The resource refers to several Patients, or to a person whose Patient is unknown. Only the application sees it,
    /// and no patient.
    ApplicationOnly,
    /// The resource refers to no person.
    Shared,
}

/// A function that returns the resolved form of a Reference's `reference` value.
pub(in crate::ingest) type Resolved<'a> = dyn Fn(Value<'_>) -> Option<String> + 'a;

/// Decides the filing of a resource.
pub(in crate::ingest) fn file_under(type_id: TypeId, id: &str, root: Value<'_>, resolved: &Resolved<'_>) -> Filing {
    let plan = plan(type_id);
    if plan.is_patient {
        return Filing::Person(id.to_owned());
    }
    let mut named = Named::default();
    people(type_id, root, resolved, &mut |_, whom| named.add(whom));
    match named {
        Named { unknown: true, .. } | Named { several: true, .. } => Filing::ApplicationOnly,
        Named { patient: Some(id), .. } => Filing::Person(id),
        Named { patient: None, .. } => match context(type_id, root)
            .and_then(resolved)
            .as_deref()
            .map(Reference::parse)
        {
            Some(Reference::Relative(target)) => Filing::As(target.type_id, target.id.to_owned()),
            _ => Filing::Shared,
        },
    }
}

/// Returns the `reference` value of a Binary's `securityContext`.
fn context(type_id: TypeId, root: Value<'_>) -> Option<Value<'_>> {
    let is_context = |name: &&str| *name == CONTEXT;
    let name = plan(type_id).direct.iter().find(|name| is_context(name))?;
    root.get(name)?.get("reference")
}

/// Whether another resource may decide the owner of this one. This is so if the resource belongs to no person by its
/// own references, and has a `securityContext`.
pub(in crate::ingest) fn stands_for_another(type_id: TypeId, root: Value<'_>, filing: &Filing) -> bool {
    !matches!(filing, Filing::Person(_)) && context(type_id, root).is_some()
}

/// Calls `visit` for each reference that decides a resource's filing, with the person that it refers to.
fn people(type_id: TypeId, root: Value<'_>, resolved: &Resolved<'_>, visit: &mut dyn FnMut(Value<'_>, Whom)) {
    let plan = plan(type_id);
    let mut nobody = true;
    for name in &plan.direct {
        each(root.get(name), &mut |reference| {
            let whom = whom(reference, root, resolved, true);
            nobody &= matches!(whom, Whom::Nobody);
            visit(reference, whom);
        });
    }
    if nobody {
        for path in &plan.compartment {
            follow(root, path, &mut |reference| {
                visit(reference, whom(reference, root, resolved, false));
            });
        }
    }
}

/// Calls `visit` with the resolved text of each reference that decides a resource's filing.
pub(in crate::ingest) fn texts_of_people(
    type_id: TypeId,
    root: Value<'_>,
    resolved: &Resolved<'_>,
    visit: &mut dyn FnMut(&str),
) {
    people(type_id, root, resolved, &mut |reference, _| {
        if let Some(text) = reference.get("reference").and_then(resolved) {
            visit(&text);
        }
    });
}

/// Returns the id of the Patient under which an import would file the resource. Returns `None` if there is no such
/// Patient, or if another resource decides the owner. `resolved` returns the resolved form of a Reference's `reference`
/// value.
pub fn patient_of(type_id: TypeId, root: Value<'_>, resolved: &dyn Fn(Value<'_>) -> Option<String>) -> Option<String> {
    let id = root.get_str("id").unwrap_or_default();
    match file_under(type_id, &id, root, resolved) {
        Filing::Person(id) => Some(id),
        Filing::As(..) | Filing::ApplicationOnly | Filing::Shared => None,
    }
}

/// Returns the root properties that [`patient_of`] reads from resources of a type.
pub fn patient_properties(type_id: TypeId) -> Vec<&'static str> {
    let plan = plan(type_id);
    let compartment = plan.compartment.iter().filter_map(|path| path.first());
    let mut properties: Vec<&'static str> = plan.direct.iter().chain(compartment).copied().collect();
    properties.extend(["id", "contained"]);
    properties.sort_unstable();
    properties.dedup();
    properties
}

/// Whether R4 assigns all resources of this type to a person: Patients, and types with a required `subject`, `patient`
/// or `beneficiary` that can only be a Patient. References to them are never references to shared rows.
pub(in crate::ingest) fn is_never_shared(type_id: TypeId) -> bool {
    let plan = plan(type_id);
    plan.is_patient || plan.always
}

/// The references that decide the filing of a type's resources.
#[derive(Debug, Default)]
struct Plan {
    is_patient: bool,
    always: bool,
    /// The properties among `subject`, `patient`, `beneficiary` and `securityContext` that are root elements of the
    /// type and may refer to a Patient.
    direct: Vec<&'static str>,
    /// The element paths of the type's Patient compartment parameters.
    compartment: Vec<Vec<&'static str>>,
}

fn plan(type_id: TypeId) -> &'static Plan {
    static PLANS: OnceLock<Vec<Plan>> = OnceLock::new();
    &PLANS.get_or_init(|| facts().types().map(make_plan).collect())[type_id.index()]
}

fn make_plan(type_id: TypeId) -> Plan {
    let def = facts().get(type_id);
    let mut plan = Plan {
        is_patient: def.name == "Patient",
        ..Plan::default()
    };
    for name in ["subject", "patient", "beneficiary", CONTEXT] {
        let Some(element) = facts().element(type_id, name) else {
            continue;
        };
        let reference = !element.choice && facts().get(element.types[0]).name == "Reference";
        let names = |target: &TypeId| facts().get(*target).name;
        if reference
            && (element.targets.is_empty()
                || element
                    .targets
                    .iter()
                    .any(|target| names(target) == "Patient" || names(target) == "Resource"))
        {
            plan.direct.push(element.name);
            plan.always |= element.min > 0 && matches!(element.targets.as_slice(), [only] if names(only) == "Patient");
        }
    }
    let parameters = SearchParameters::builtin();
    for code in patient_params(type_id) {
        let expression = parameters
            .get(type_id, code)
            .and_then(|parameter| parameter.expression.as_deref());
        plan.compartment
            .extend(paths_of(type_id, expression.unwrap_or_default()));
    }
    plan
}

/// Returns the element paths of a compartment parameter for one type. The expression is a union of element paths, each
/// with or without `where(resolve() is Patient)`. A test checks that R4's expressions have this form.
fn paths_of(type_id: TypeId, expression: &str) -> Vec<Vec<&'static str>> {
    let mut paths = Vec::new();
    for branch in expression.split('|') {
        let branch = branch.trim();
        let branch = branch.strip_suffix(".where(resolve() is Patient)").unwrap_or(branch);
        let mut steps = branch.split('.');
        if steps.next() != Some(facts().get(type_id).name) {
            continue;
        }
        let mut at = type_id;
        let path = steps.map(|step| {
            let child = facts().child(at, step)?;
            at = child.type_id;
            Some(child.element.name)
        });
        paths.extend(path.collect::<Option<Vec<_>>>());
    }
    paths
}

fn each(value: Option<Value<'_>>, visit: &mut dyn FnMut(Value<'_>)) {
    match value {
        Some(list) if list.is_array() => list.items().for_each(visit),
        Some(value) if value.is_object() => visit(value),
        _ => {}
    }
}

fn follow(value: Value<'_>, path: &[&str], visit: &mut dyn FnMut(Value<'_>)) {
    match path.split_first() {
        None => visit(value),
        Some((step, rest)) => each(value.get(step), &mut |child| follow(child, rest, visit)),
    }
}

/// The person that a reference refers to.
enum Whom {
    Patient(String),
    SomePerson,
    Nobody,
}

#[derive(Default)]
struct Named {
    patient: Option<String>,
    several: bool,
    unknown: bool,
}

impl Named {
    fn add(&mut self, whom: Whom) {
        match whom {
            Whom::Patient(id) => match &self.patient {
                Some(before) => self.several |= *before != id,
                None => self.patient = Some(id),
            },
            Whom::SomePerson => self.unknown = true,
            Whom::Nobody => {}
        }
    }
}

/// Returns the person that a Reference refers to. `about` is true for a Reference in a root element such as `subject`.
/// If such a Reference does not show the type of its target, it counts as a Reference to an unknown person. Any other
/// Reference without a type counts as one to nobody.
fn whom(reference: Value<'_>, root: Value<'_>, resolved: &Resolved<'_>, about: bool) -> Whom {
    let presumed = || match reference.get_str("type").as_deref() {
        Some("Patient" | "http://hl7.org/fhir/StructureDefinition/Patient") => Whom::SomePerson,
        Some(_) => Whom::Nobody,
        None if about => Whom::SomePerson,
        None => Whom::Nobody,
    };
    let Some(text) = reference.get("reference").and_then(resolved) else {
        let says_something = reference.get("identifier").is_some() || reference.get("display").is_some();
        return if says_something { presumed() } else { Whom::Nobody };
    };
    let is_patient = |type_id: TypeId| facts().get(type_id).name == "Patient";
    match Reference::parse(&text) {
        Reference::Relative(target) if is_patient(target.type_id) => Whom::Patient(target.id.to_owned()),
        Reference::Absolute { target, .. } if is_patient(target.type_id) => Whom::SomePerson,
        Reference::Conditional { type_id, .. } if is_patient(type_id) => Whom::SomePerson,
        Reference::Relative(_) | Reference::Absolute { .. } | Reference::Conditional { .. } => Whom::Nobody,
        Reference::Fragment(id) => match contained_type(root, id).as_deref() {
            Some("Patient") => Whom::SomePerson,
            Some(_) => Whom::Nobody,
            None => presumed(),
        },
        Reference::Urn(_) | Reference::Other(_) => presumed(),
    }
}

fn contained_type<'r>(root: Value<'r>, id: &str) -> Option<Cow<'r, str>> {
    let contained = root.get("contained")?;
    contained
        .items()
        .find(|resource| resource.get_str("id").as_deref() == Some(id))?
        .get_str("resourceType")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::ingest::references::condition::resource_type;

    fn filed(json: &str) -> Filing {
        let mut tape = Tape::new();
        let root = tape.parse(json.as_bytes()).unwrap();
        let type_id = resource_type(&root.get_str("resourceType").unwrap()).unwrap();
        file_under(type_id, &root.get_str("id").unwrap_or_default(), root, &|text| {
            text.as_str().map(Cow::into_owned)
        })
    }

    #[test]
    fn the_compartment_is_made_of_plain_paths() {
        let parameters = SearchParameters::builtin();
        for type_id in facts().resources() {
            for code in patient_params(type_id) {
                let name = facts().get(type_id).name;
                let expression = parameters.get(type_id, code).unwrap().expression.as_deref().unwrap();
                let branches = expression
                    .split('|')
                    .filter(|branch| branch.trim().starts_with(&format!("{name}.")));
                assert_eq!(
                    branches.count(),
                    paths_of(type_id, expression).len(),
                    "{name} {code}: {expression}"
                );
                assert!(!paths_of(type_id, expression).is_empty(), "{name} {code}: {expression}");
            }
        }
    }

    #[test]
    fn a_row_goes_to_the_person_it_is_about() {
        let person = |id: &str| Filing::Person(id.to_owned());
        for (json, expected) in [
            (r#"{"resourceType":"Patient","id":"p"}"#, person("p")),
            (
                r#"{"resourceType":"Patient","id":"p","link":[{"other":{"reference":"Patient/q"}}]}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Observation","subject":{"reference":"Patient/p"},"performer":[{"reference":"Patient/q"}]}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Observation","subject":{"reference":"Patient/p/_history/3"}}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Observation","performer":[{"reference":"Practitioner/q"},{"reference":"Patient/q"}]}"#,
                person("q"),
            ),
            (
                r#"{"resourceType":"Observation","subject":{"reference":"Group/g"},"performer":[{"reference":"Patient/q"}]}"#,
                person("q"),
            ),
            (
                r#"{"resourceType":"Coverage","beneficiary":{"reference":"Patient/p"},"subscriber":{"reference":"Patient/q"}}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Coverage","subscriber":{"reference":"Patient/q"},"policyHolder":{"reference":"Patient/q"}}"#,
                person("q"),
            ),
            (
                r#"{"resourceType":"Device","patient":{"reference":"Patient/p"}}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Group","member":[{"entity":{"reference":"Patient/p"}}]}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Binary","securityContext":{"reference":"Patient/p"}}"#,
                person("p"),
            ),
            (
                r#"{"resourceType":"Appointment","participant":[{"actor":{"display":"Dr"}},{"actor":{"reference":"Patient/p"}}]}"#,
                person("p"),
            ),
        ] {
            assert_eq!(filed(json), expected, "{json}");
        }
    }

    #[test]
    fn a_person_who_cannot_be_told_makes_it_the_applications_alone() {
        for json in [
            r#"{"resourceType":"Group","member":[{"entity":{"reference":"Patient/p"}},{"entity":{"reference":"Patient/q"}}]}"#,
            r#"{"resourceType":"Account","subject":[{"reference":"Patient/p"},{"reference":"Patient/q"}]}"#,
            r#"{"resourceType":"Observation","subject":{"reference":"https://example.org/fhir/Patient/p"}}"#,
            r#"{"resourceType":"Observation","subject":{"reference":"urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"}}"#,
            r#"{"resourceType":"Observation","subject":{"reference":"Patient?identifier=x"}}"#,
            r##"{"resourceType":"Observation","contained":[{"resourceType":"Patient","id":"c"}],"subject":{"reference":"#c"}}"##,
            r#"{"resourceType":"Observation","subject":{"display":"Somebody"},"performer":[{"reference":"Patient/p"}]}"#,
            r#"{"resourceType":"Observation","performer":[{"type":"Patient","display":"Somebody"}]}"#,
            r#"{"resourceType":"Binary","securityContext":{"reference":"https://example.org/fhir/Patient/p"}}"#,
            r#"{"resourceType":"Person","link":[{"target":{"reference":"Patient/p"}},{"target":{"reference":"Patient/q"}}]}"#,
        ] {
            assert_eq!(filed(json), Filing::ApplicationOnly, "{json}");
        }
    }

    #[test]
    fn a_binary_is_filed_as_what_it_stands_for() {
        let report = resource_type("DiagnosticReport").unwrap();
        for (json, expected) in [
            (
                r#"{"resourceType":"Binary","securityContext":{"reference":"DiagnosticReport/d"}}"#,
                Filing::As(report, "d".to_owned()),
            ),
            (
                r#"{"resourceType":"Binary","securityContext":{"reference":"http://example.org/DiagnosticReport/d"}}"#,
                Filing::Shared,
            ),
            (
                r#"{"resourceType":"Binary","securityContext":{"type":"DiagnosticReport","display":"A report"}}"#,
                Filing::Shared,
            ),
        ] {
            assert_eq!(filed(json), expected, "{json}");
        }
    }

    #[test]
    fn what_names_nobody_is_shared() {
        for json in [
            r#"{"resourceType":"Organization","id":"o"}"#,
            r#"{"resourceType":"Observation","subject":{"reference":"Location/l"}}"#,
            r#"{"resourceType":"Observation","subject":{"reference":"http://example.org/Group/l"}}"#,
            r##"{"resourceType":"Observation","contained":[{"resourceType":"Device","id":"c"}],"subject":{"reference":"#c"}}"##,
            r#"{"resourceType":"Observation","subject":{"type":"Group","display":"All"}}"#,
            r#"{"resourceType":"Observation","subject":{},"performer":[{"display":"Somebody"}]}"#,
            r#"{"resourceType":"Appointment","participant":[{"actor":{"reference":"Location/l"}}]}"#,
            r#"{"resourceType":"Observation","subject":"Patient/p"}"#,
            r#"{"resourceType":"Binary","contentType":"text/plain"}"#,
        ] {
            assert_eq!(filed(json), Filing::Shared, "{json}");
        }
        let never = |name| is_never_shared(resource_type(name).unwrap());
        assert!(never("Patient") && never("AllergyIntolerance") && never("ExplanationOfBenefit") && never("Coverage"));
        assert!(
            !never("Organization")
                && !never("Encounter")
                && !never("Observation")
                && !never("Group")
                && !never("Device")
        );
    }
}
