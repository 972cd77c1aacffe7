//! Draws requests: types, parameters, persons and views.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::records::{name, records};
use super::request::Ask;

const TYPES: [&str; 23] = [
    "RequestGroup",
    "Contract",
    "Provenance",
    "AuditEvent",
    "DiagnosticReport",
    "Observation",
    "Observation",
    "Patient",
    "Practitioner",
    "PractitionerRole",
    "Organization",
    "Location",
    "Device",
    "Medication",
    "Group",
    "Appointment",
    "Encounter",
    "MedicationRequest",
    "Coverage",
    "ExplanationOfBenefit",
    "List",
    "Condition",
    "Patient",
];

const NAMES: [&str; 78] = [
    "instantiates-canonical",
    "instantiates-canonical:Contract.patient",
    "instantiates-canonical.url",
    "_has:RequestGroup:instantiates-canonical:patient",
    "_has:RequestGroup:instantiates-canonical:_id",
    "target",
    "entity",
    "agent",
    "result",
    "result.subject:Patient.family",
    "target:Patient.family",
    "_has:Provenance:target:_id",
    "_has:Provenance:target:agent",
    "_has:AuditEvent:entity:agent",
    "_has:DiagnosticReport:result:subject",
    "_has:List:item:_id",
    "_id",
    "subject",
    "subject:Patient",
    "patient",
    "performer",
    "has-member",
    "device",
    "encounter",
    "requester",
    "beneficiary",
    "subscriber",
    "coverage",
    "insurer",
    "member",
    "actor",
    "item",
    "asserter",
    "link",
    "general-practitioner",
    "organization",
    "practitioner",
    "payor",
    "family",
    "name:contains",
    "_list",
    "_content",
    "subject:missing",
    "patient:not-there",
    "subject.family",
    "subject:Patient.name",
    "patient.link.family",
    "patient.link._id",
    "asserter:Patient.family",
    "performer:Patient.family",
    "subscriber:Patient.gender",
    "has-member.subject:Patient.family",
    "has-member:Observation.subject:Patient._id",
    "has-member:Observation.code",
    "encounter.subject._id",
    "encounter.status",
    "coverage.subscriber:Patient.family",
    "coverage.payor:Organization.name",
    "item:Observation.subject:Patient._id",
    "performer:Practitioner._has:Observation:performer:patient",
    "patient._has:Observation:performer:_id",
    "device._has:Observation:device:patient",
    "_has:Observation:subject:_id",
    "_has:Observation:subject:code",
    "_has:Observation:performer:_id",
    "_has:Observation:performer:subject:Patient.family",
    "_has:Observation:device:patient",
    "_has:Observation:device:subject:Patient.family",
    "_has:Observation:has-member:subject",
    "_has:Observation:encounter:patient",
    "_has:Group:member:_id",
    "_has:Patient:link:_id",
    "_has:Patient:general-practitioner:family",
    "_has:Coverage:subscriber:_id",
    "_has:Coverage:payor:beneficiary",
    "_has:List:item:patient",
    "_has:Appointment:actor:_id",
    "_has:Condition:asserter:_id",
];

const VALUES: [&str; 32] = [
    "urn:contract",
    "urn:plan",
    "Contract/contract-ben",
    "prov-ben",
    "audit-ben",
    "of-both",
    "worklist",
    "of-anns-record",
    "ann",
    "ben",
    "ann,ben",
    "Patient/ann",
    "Patient/ben",
    "$PATIENT_ID",
    "Patient/$PATIENT_ID",
    "obs-ann-0",
    "obs-ben-0",
    "Observation/obs-ben-1",
    "visit-ben",
    "cover-ben",
    "list-ben",
    "list-ann",
    "household",
    "both",
    "doc",
    "pump",
    "payer-ben",
    "claim-ben,claim-ann",
    "true",
    "c1",
    "final",
    "Unrelated",
];

const WHOLE: [(&str, &str); 48] = [
    ("_include", "RequestGroup:instantiates-canonical"),
    ("_revinclude", "RequestGroup:instantiates-canonical"),
    ("_revinclude", "Provenance:target"),
    ("_revinclude:iterate", "Provenance:target"),
    ("_include", "AuditEvent:entity"),
    ("_include", "DiagnosticReport:result"),
    ("_revinclude", "List:item"),
    ("_contained", "both"),
    ("_contained", "true"),
    ("_containedType", "contained"),
    ("_sort", "-date,subject"),
    ("_filter", "subject eq Patient/ben"),
    ("_filter", "subject.family eq \"ben\" or status eq final"),
    ("_filter", "not (subject eq Patient/ann)"),
    ("_filter", "_id eq obs-ben-0 or _id eq obs-ann-0"),
    ("_filter", "patient.link.family sw b"),
    ("_filter", "has-member.code eq c1 and subject pr true"),
    ("_include", "*"),
    ("_revinclude", "*"),
    ("_include", "Observation:subject"),
    ("_include", "Observation:has-member"),
    ("_include:iterate", "Observation:has-member"),
    ("_include", "Observation:performer"),
    ("_include", "Observation:device"),
    ("_include", "Observation:encounter"),
    ("_include", "Patient:link"),
    ("_include:iterate", "Patient:link"),
    ("_include", "Patient:general-practitioner"),
    ("_include:iterate", "PractitionerRole:organization"),
    ("_include", "Coverage:subscriber"),
    ("_include", "ExplanationOfBenefit:coverage"),
    ("_include:iterate", "Coverage:payor"),
    ("_include", "List:item"),
    ("_revinclude", "Observation:subject"),
    ("_revinclude", "Observation:performer"),
    ("_revinclude:iterate", "Observation:has-member"),
    ("_revinclude", "Group:member"),
    // These types have no records of Ann.
    ("_include", "Group:member"),
    ("_include", "Appointment:actor"),
    ("_include:iterate", "Appointment:actor"),
    ("_revinclude", "Coverage:subscriber"),
    ("_revinclude", "Condition:asserter"),
    ("_revinclude", "Observation:device"),
    ("_sort", "-_id"),
    ("_sort", "_lastUpdated,-_id"),
    ("_total", "accurate"),
    ("_summary", "count"),
    ("_elements", "id"),
];

fn parameters() -> impl Strategy<Value = String> {
    let pair = prop_oneof![
        3 => (select(&NAMES[..]), select(&VALUES[..])),
        2 => select(&WHOLE[..]),
        1 => select(vec![("_count", "1"), ("_count", "2"), ("_count", "3"), ("_count", "50"), ("_offset", "1")]),
    ];
    proptest::collection::vec(pair, 0..4).prop_map(|pairs| {
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(pairs);
        text.finish()
    })
}

/// Parameters of operations on whole records.
fn wholes() -> impl Strategy<Value = String> {
    let pairs = vec![
        ("_type", "Patient,Observation,Practitioner"),
        ("_type", "Organization,Location,Medication"),
        ("_type", "List,Provenance,AuditEvent,Group,Appointment"),
        ("_type", "Device"),
        ("start", "2024-01-02"),
        ("end", "2024-01-02"),
        ("_since", "2000-01-01T00:00:00Z"),
        ("_total", "accurate"),
        ("_offset", "3"),
        ("_count", "0"),
        ("_count", "1"),
        ("_count", "2"),
        ("_count", "7"),
        ("_count", "1000"),
    ];
    proptest::collection::vec(select(pairs), 0..4).prop_map(|pairs| {
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(pairs);
        text.finish()
    })
}

/// Parameters of a summary.
fn sections() -> impl Strategy<Value = String> {
    select(vec![
        "",
        "_section=problems",
        "_section=allergies,results",
        "_section=payers",
        "_count=1",
    ])
    .prop_map(str::to_owned)
}

pub(super) fn asks() -> impl Strategy<Value = Ask> {
    let any_type = || select(&TYPES[..]);
    let person = || select(vec!["ann", "ben", "$PATIENT_ID", "zoe"]);
    let run = (
        any_type(),
        proptest::option::of(select(vec!["Patient/ann", "Patient/ben", "Patient/zoe"])),
    );
    let all = records("");
    let ids = all.iter().map(|(_, resource)| name(resource));
    // A Binary is read as its content, which says nothing of its owner.
    let ids: Vec<String> = ids.filter(|name| !name.starts_with("Binary/")).collect();
    prop_oneof![
        5 => (any_type(), parameters()).prop_map(|(resource_type, query)| Ask::Get(format!("/fhir/{resource_type}?{query}"))),
        2 => (any_type(), parameters()).prop_map(|(resource_type, body)| Ask::Form { path: format!("/fhir/{resource_type}/_search"), body }),
        2 => (person(), any_type(), parameters()).prop_map(|(id, resource_type, query)| Ask::Get(format!("/fhir/Patient/{id}/{resource_type}?{query}"))),
        2 => (any_type(), any_type(), parameters()).prop_map(|(one, two, query)| Ask::Get(format!("/fhir?_type={one},{two}&{query}"))),
        1 => parameters().prop_map(|query| Ask::Get(format!("/fhir?{query}"))),
        1 => (person(), parameters()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/*?{query}"))),
        2 => (person(), wholes()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/$everything?{query}"))),
        1 => (person(), wholes()).prop_map(|(id, body)| Ask::Form { path: format!("/fhir/Patient/{id}/$everything"), body }),
        1 => (person(), sections()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/$summary?{query}"))),
        1 => person().prop_map(|id| Ask::Get(format!("/fhir/Patient/$summary?identifier=urn:people|{id}"))),
        1 => (person(), select(vec!["pdf", "pdf", "zip"])).prop_map(|(id, form)| Ask::Pages(format!("/fhir/Patient/{id}/$pdf?_format={form}"))),
        1 => select(vec!["summary", "health-card"]).prop_map(Ask::Shared),
        1 => select(ids).prop_map(|name| Ask::Get(format!("/fhir/{name}"))),
        1 => run.prop_map(|(resource_type, patient)| run_of(resource_type, patient)),
    ]
}

fn run_of(resource_type: &str, patient: Option<&str>) -> Ask {
    let columns =
        json!([{"name":"id","path":"id"},{"name":"whose","path":"meta.tag.where(system = 'urn:whose').code.first()"}]);
    let view = json!({"resourceType":"ViewDefinition","status":"active","resource":resource_type,"select":[{"column":columns}]});
    let mut parameters = vec![json!({"name":"viewResource","resource":view})];
    parameters.extend(patient.map(|patient| json!({"name":"patient","valueReference":{"reference":patient}})));
    Ask::Run {
        path: format!("/fhir/ViewDefinition/$run?{resource_type}"),
        body: json!({"resourceType":"Parameters","parameter":parameters}).to_string(),
    }
}
