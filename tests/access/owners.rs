//! No request to any API shows a token's holder other people's records or reveals that they exist. Requests are random.
//! Each entry of each answer is compared with the owner of its record. Each answer to a person is compared with that of
//! a server that never had other people's records.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use tabularium::consent::LOCAL_APPLICATION;
use tabularium::ingest::{Options, Session};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::{Lake, LakeOptions, Mode};

use crate::harness::server::{Answer, Server};
use crate::health_links::Link;
use crate::patient::cards;
use crate::pdf::reading::{squeezed, text};

/// The address of all servers here. A summary's ids depend on it.
const BASE: &str = "https://records.example";

/// The owner of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Of(&'static str),
    Everybody,
    /// Several people, or one that cannot be determined.
    Nobody,
}

/// Ann's and Ben's records, records that they share, and records that neither may see. Each is marked with `label` and
/// its owner. Texts of codes name both too, because a PDF file does not show marks.
fn records(label: &str) -> Vec<(Whose, Value)> {
    let mut all = surroundings();
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        all.extend(own(id, other).into_iter().map(|resource| (Whose::Of(id), resource)));
    }
    for (whose, resource) in &mut all {
        let code = match whose {
            Whose::Of(id) => format!("{label}-{id}"),
            Whose::Everybody => format!("{label}-all"),
            Whose::Nobody => format!("{label}-nobody"),
        };
        resource["meta"] = json!({"tag":[{"system":"urn:whose","code":code}]});
        if let Some(text) = resource["code"]["text"].as_str() {
            resource["code"]["text"] = format!("{text}, {label}").into();
        }
    }
    all
}

fn surroundings() -> Vec<(Whose, Value)> {
    let shared = [
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Shared"}]}),
        json!({"resourceType":"Practitioner","id":"stranger","name":[{"family":"Unrelated"}]}),
        json!({"resourceType":"PractitionerRole","id":"role","practitioner":{"reference":"Practitioner/doc"},
               "organization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Organization","id":"clinic","name":"Clinic","partOf":{"reference":"Organization/trust"}}),
        json!({"resourceType":"Organization","id":"trust","name":"Trust"}),
        json!({"resourceType":"Organization","id":"elsewhere","name":"Elsewhere"}),
        json!({"resourceType":"Organization","id":"payer-ann","name":"Payer"}),
        json!({"resourceType":"Organization","id":"payer-ben","name":"Payer"}),
        json!({"resourceType":"Location","id":"ward","name":"Ward","managingOrganization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Device","id":"pump","owner":{"reference":"Organization/clinic"},
               "identifier":[{"system":"urn:d","value":"1"}]}),
        json!({"resourceType":"Device","id":"unused"}),
        // A record about another record names no person, so it belongs to nobody, and no person's record refers to it.
        json!({"resourceType":"Provenance","id":"of-anns-record","target":[{"reference":"Observation/obs-ann-0"}],
               "recorded":"2024-01-01T00:00:00Z","agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"List","id":"worklist","status":"current","mode":"working","entry":[
               {"item":{"reference":"Observation/obs-ann-0"}},{"item":{"reference":"Observation/obs-ben-0"}}]}),
        // A canonical does not show its target to a patient.
        json!({"resourceType":"PlanDefinition","id":"plan","status":"active","url":"urn:plan"}),
        json!({"resourceType":"Medication","id":"pill","code":{"text":"Pill"},"manufacturer":{"reference":"Organization/elsewhere"}}),
    ];
    let of_both = [
        json!({"resourceType":"Group","id":"household","type":"person","actual":true,
               "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/ben"}}]}),
        json!({"resourceType":"Appointment","id":"both","status":"booked","participant":[
               {"actor":{"reference":"Patient/ann"},"status":"accepted"},
               {"actor":{"reference":"Patient/ben"},"status":"accepted"}]}),
        json!({"resourceType":"Provenance","id":"of-both","target":[{"reference":"Patient/ann"},{"reference":"Patient/ben"}],
               "recorded":"2024-01-01T00:00:00Z","agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"AuditEvent","id":"ann-of-ben","type":{"code":"rest"},"recorded":"2024-01-01T00:00:00Z",
               "agent":[{"who":{"reference":"Patient/ann"},"requestor":true}],"source":{"observer":{"reference":"Device/pump"}},
               "entity":[{"what":{"reference":"Patient/ben"}}]}),
    ];
    let shared = shared.into_iter().map(|resource| (Whose::Everybody, resource));
    shared
        .chain(of_both.into_iter().map(|resource| (Whose::Nobody, resource)))
        .collect()
}

/// A person's own records. Several of them refer to the other person.
fn own(id: &str, other: &str) -> Vec<Value> {
    let me = json!({"reference":format!("Patient/{id}")});
    let them = json!({"reference":format!("Patient/{other}")});
    let mut all = vec![
        json!({"resourceType":"Patient","id":id,"gender":"other","name":[{"family":id}],"birthDate":"1980-02-03",
               "identifier":[{"system":"urn:people","value":id}],
               "generalPractitioner":[{"reference":"PractitionerRole/role"}],"link":[{"other":them,"type":"seealso"}]}),
        json!({"resourceType":"Encounter","id":format!("visit-{id}"),"status":"finished","class":{"code":"AMB"},"subject":me,
               "location":[{"location":{"reference":"Location/ward"}}]}),
        json!({"resourceType":"MedicationRequest","id":format!("order-{id}"),"status":"active","intent":"order","subject":me,
               "requester":{"reference":"Practitioner/doc"},"medicationReference":{"reference":"Medication/pill"}}),
        json!({"resourceType":"Coverage","id":format!("cover-{id}"),"status":"active","beneficiary":me,"subscriber":them,
               "policyHolder":them,"payor":[{"reference":format!("Organization/payer-{id}")}]}),
        json!({"resourceType":"ExplanationOfBenefit","id":format!("claim-{id}"),"status":"active","use":"claim",
               "type":{"text":"t"},"created":"2024-01-01","patient":me,"provider":{"reference":"Organization/clinic"},
               "insurer":{"reference":format!("Organization/payer-{id}")},"outcome":"complete",
               "insurance":[{"focal":true,"coverage":{"reference":format!("Coverage/cover-{other}")}}]}),
        json!({"resourceType":"List","id":format!("list-{id}"),"status":"current","mode":"working","subject":me,"entry":[
               {"item":{"reference":format!("Observation/obs-{other}-0")}},{"item":{"reference":format!("Observation/obs-{id}-1")}}]}),
        json!({"resourceType":"Provenance","id":format!("prov-{id}"),"recorded":"2024-01-01T00:00:00Z",
               "target":[me,{"reference":format!("Observation/obs-{other}-0")}],"agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"AuditEvent","id":format!("audit-{id}"),"type":{"code":"rest"},"recorded":"2024-01-01T00:00:00Z",
               "agent":[{"who":{"reference":"Practitioner/doc"},"requestor":true}],"source":{"observer":{"reference":"Device/pump"}},
               "entity":[{"what":me},{"what":{"reference":format!("Observation/obs-{other}-1")}}]}),
        json!({"resourceType":"DiagnosticReport","id":format!("report-{id}"),"status":"final","subject":me,"code":{"text":"r"},
               "result":[{"reference":"#inside"},{"reference":format!("Observation/obs-{other}-2")}],
               "contained":[{"resourceType":"Observation","id":"inside","status":"final","subject":them,"code":{"text":"inside"}}]}),
        // Both people's records have the same URL.
        json!({"resourceType":"Contract","id":format!("contract-{id}"),"url":"urn:contract","version":"1","subject":[me]}),
        json!({"resourceType":"RequestGroup","id":format!("group-{id}"),"status":"active","intent":"plan","subject":me,
               "instantiatesCanonical":["urn:contract","urn:plan",format!("Contract/contract-{other}")]}),
        json!({"resourceType":"Condition","id":format!("ill-{id}"),"subject":me,"asserter":them,"code":{"text":format!("of {id}")}}),
        json!({"resourceType":"AllergyIntolerance","id":format!("allergy-{id}"),"patient":me,"recorder":them,
               "code":{"text":format!("of {id}")}}),
        json!({"resourceType":"DocumentReference","id":format!("letter-{id}"),"status":"current","subject":me,"author":[them],
               "content":[{"attachment":{"contentType":"text/plain","url":format!("Binary/scan-{other}")}},
                          {"attachment":{"contentType":"text/plain","url":format!("Binary/scan-{id}")}}]}),
        json!({"resourceType":"Binary","id":format!("scan-{id}"),"contentType":"text/plain","securityContext":me,
               "data":STANDARD.encode(format!("a scan of {id}"))}),
    ];
    for at in 0..3 {
        all.push(
            json!({"resourceType":"Observation","id":format!("obs-{id}-{at}"),"status":"final","subject":me,
            "code":{"coding":[{"system":"urn:c","code":format!("c{at}")}],"text":format!("of {id}")},
            "valueQuantity":{"value":at},"effectiveDateTime":format!("2024-01-0{}", at + 1),
            "performer":[{"reference":"Practitioner/doc"},them],"device":{"reference":"Device/pump"},
            "encounter":{"reference":format!("Encounter/visit-{other}")},
            "hasMember":[{"reference":format!("Observation/obs-{other}-{at}")},{"reference":format!("Observation/obs-{id}-0")}]}),
        );
    }
    all
}

fn name(resource: &Value) -> String {
    let part = |name: &str| resource[name].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", part("resourceType"), part("id"))
}

/// The records that a person may see: their own, the shared ones that those refer to, and the references of these.
fn visible(records: &[(Whose, Value)], id: &str) -> Vec<Value> {
    let mut seen: Vec<&Value> = records
        .iter()
        .filter(|(whose, _)| matches!(whose, Whose::Of(of) if *of == id))
        .map(|(_, resource)| resource)
        .collect();
    let mut next = 0;
    while next < seen.len() {
        let text = seen[next].to_string();
        for (whose, resource) in records {
            let refers = text.contains(&format!("\"reference\":\"{}\"", name(resource)));
            if refers && *whose == Whose::Everybody && !seen.contains(&resource) {
                seen.push(resource);
            }
        }
        next += 1;
    }
    seen.into_iter().cloned().collect()
}

/// `Type/id` and the owner as marked in the record.
type Shown = BTreeSet<(String, String)>;

fn mark(resource: &Value) -> (String, String) {
    let tags = resource["meta"]["tag"].as_array().cloned().unwrap_or_default();
    let whose = tags.iter().find(|tag| tag["system"] == "urn:whose");
    (
        name(resource),
        whose.map_or(String::new(), |tag| tag["code"].to_string()),
    )
}

/// An empty lake with a clock that stands still, so that two lakes have the same times.
fn empty_lake(folder: &tempfile::TempDir) -> Lake {
    let options = LakeOptions {
        clock: Arc::new(ManualClock::at(1_800_000_000_000_000)),
        ..crate::harness::kind::options()
    };
    Lake::create_with(folder.path(), options).unwrap()
}

fn import(lake: &Lake, mode: Mode, application: &str, resources: impl Iterator<Item = Value>) {
    let mut writer = lake.writer().unwrap();
    let options = Options {
        mode,
        application: application.to_owned(),
        ..Options::default()
    };
    let mut session = Session::begin(&mut writer, options).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

/// A server with everybody's records, and one with Ann's alone.
struct Servers {
    whole: Server,
    alone: Server,
    /// The tokens of the whole server, with the records that each may see.
    tokens: BTreeMap<&'static str, (String, Shown)>,
    anns_alone: String,
}

fn servers() -> Servers {
    let folder = tempfile::tempdir().unwrap();
    let lake = empty_lake(&folder);
    let places = [
        ("local", Mode::Live, LOCAL_APPLICATION),
        ("other", Mode::Live, "other"),
        ("test", Mode::Test, LOCAL_APPLICATION),
    ];
    for (label, mode, application) in places {
        let resources = records(label).into_iter().map(|(_, resource)| resource);
        import(&lake, mode, application, resources);
    }
    let whole = Server::at(folder, lake, BASE);
    whole.store.applications().register("other").unwrap();
    let mut tokens = BTreeMap::new();
    let all = |label: &str| {
        records(label)
            .iter()
            .map(|(_, resource)| mark(resource))
            .collect::<Shown>()
    };
    let some = |label: &str, id: &str| visible(&records(label), id).iter().map(mark).collect::<Shown>();
    let patient = |application: &str, mode, id: &str| whole.tokens.for_patient(application, mode, id).unwrap().token;
    let application = |application: &str| whole.tokens.for_application(application, Mode::Live).unwrap().token;
    tokens.insert("all", (application(LOCAL_APPLICATION), all("local")));
    tokens.insert(
        "ann",
        (patient(LOCAL_APPLICATION, Mode::Live, "ann"), some("local", "ann")),
    );
    tokens.insert(
        "ben",
        (patient(LOCAL_APPLICATION, Mode::Live, "ben"), some("local", "ben")),
    );
    tokens.insert("others", (application("other"), all("other")));
    tokens.insert("other ann", (patient("other", Mode::Live, "ann"), some("other", "ann")));
    tokens.insert(
        "test ann",
        (patient(LOCAL_APPLICATION, Mode::Test, "ann"), some("test", "ann")),
    );
    let folder = tempfile::tempdir().unwrap();
    let lake = empty_lake(&folder);
    let anns = visible(&records("local"), "ann").into_iter();
    import(&lake, Mode::Live, LOCAL_APPLICATION, anns);
    let alone = Server::at(folder, lake, BASE);
    let anns_alone = alone.patient_token("ann");
    Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    }
}

/// A request.
#[derive(Clone, Debug)]
enum Ask {
    Get(String),
    Form {
        path: String,
        body: String,
    },
    Run {
        path: String,
        body: String,
    },
    /// `$pdf`. The answer's text is that of the pages.
    Pages(String),
    /// A new health link with this content. The answer's text is the document that a recipient reads.
    Shared(&'static str),
}

impl Ask {
    fn of(&self, server: &Server, token: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        let send = |path: &str, ty: &str, body: &str| {
            server.send("POST", path, &[("authorization", &bearer), ("content-type", ty)], body)
        };
        match self {
            Ask::Get(path) => server.get(path, token),
            Ask::Form { path, body } => send(path, "application/x-www-form-urlencoded", body),
            Ask::Run { path, body } => send(path, "application/fhir+json", body),
            Ask::Pages(path) => {
                let (status, headers, bytes) = server.send_bytes("GET", path, &[("authorization", &bearer)], &[]);
                let text = match headers["content-type"].to_str().unwrap() {
                    "application/pdf" => text(&bytes),
                    "application/zip" => archived(bytes),
                    _ => String::from_utf8(bytes).unwrap(),
                };
                Answer { status, headers, text }
            }
            Ask::Shared(content) => {
                let made = server.post(
                    "/rest/health-links",
                    &[("authorization", &bearer)],
                    &json!({"content": content}),
                );
                if made.status != 201 {
                    return made;
                }
                let id = made.json()["id"].as_str().unwrap().to_owned();
                let text = read(server, &Link::at(BASE, &made.json())).to_string();
                // A consent has at most 20 links.
                let path = format!("/rest/health-links/{id}");
                assert_eq!(
                    server.send("DELETE", &path, &[("authorization", &bearer)], "").status,
                    204
                );
                Answer {
                    status: 200,
                    text,
                    ..made
                }
            }
        }
    }
}

/// The text of all files in an archive.
fn archived(bytes: Vec<u8>) -> String {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let texts = (0..archive.len()).map(|at| {
        let mut file = Vec::new();
        archive.by_index(at).unwrap().read_to_end(&mut file).unwrap();
        text(&file)
    });
    texts.collect()
}

/// The Bundle that a recipient of a link reads.
fn read(server: &Server, link: &Link) -> Value {
    let manifest = link.manifest(server, &json!({}));
    assert_eq!(manifest.status, 200, "{}", manifest.text);
    let file = &manifest.json()["files"][0];
    let media = file["contentType"].as_str().unwrap();
    let read = link.file(file["embedded"].as_str().unwrap(), media);
    match read["verifiableCredential"][0].as_str() {
        Some(card) => cards::read_at(server, BASE, card)["vc"]["credentialSubject"]["fhirBundle"].clone(),
        None => read,
    }
}

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

fn asks() -> impl Strategy<Value = Ask> {
    let ty = || select(&TYPES[..]);
    let person = || select(vec!["ann", "ben", "$PATIENT_ID", "zoe"]);
    let run = (
        ty(),
        proptest::option::of(select(vec!["Patient/ann", "Patient/ben", "Patient/zoe"])),
    );
    let all = records("");
    let ids = all.iter().map(|(_, resource)| name(resource));
    // A Binary is read as its content, which says nothing of its owner.
    let ids: Vec<String> = ids.filter(|name| !name.starts_with("Binary/")).collect();
    prop_oneof![
        5 => (ty(), parameters()).prop_map(|(ty, query)| Ask::Get(format!("/fhir/{ty}?{query}"))),
        2 => (ty(), parameters()).prop_map(|(ty, body)| Ask::Form { path: format!("/fhir/{ty}/_search"), body }),
        2 => (person(), ty(), parameters()).prop_map(|(id, ty, query)| Ask::Get(format!("/fhir/Patient/{id}/{ty}?{query}"))),
        2 => (ty(), ty(), parameters()).prop_map(|(one, two, query)| Ask::Get(format!("/fhir?_type={one},{two}&{query}"))),
        1 => parameters().prop_map(|query| Ask::Get(format!("/fhir?{query}"))),
        1 => (person(), parameters()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/*?{query}"))),
        2 => (person(), wholes()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/$everything?{query}"))),
        1 => (person(), wholes()).prop_map(|(id, body)| Ask::Form { path: format!("/fhir/Patient/{id}/$everything"), body }),
        1 => (person(), sections()).prop_map(|(id, query)| Ask::Get(format!("/fhir/Patient/{id}/$summary?{query}"))),
        1 => person().prop_map(|id| Ask::Get(format!("/fhir/Patient/$summary?identifier=urn:people|{id}"))),
        1 => (person(), select(vec!["pdf", "pdf", "zip"])).prop_map(|(id, form)| Ask::Pages(format!("/fhir/Patient/{id}/$pdf?_format={form}"))),
        1 => select(vec!["summary", "health-card"]).prop_map(Ask::Shared),
        1 => select(ids).prop_map(|name| Ask::Get(format!("/fhir/{name}"))),
        1 => run.prop_map(|(ty, patient)| run_of(ty, patient)),
    ]
}

fn run_of(ty: &str, patient: Option<&str>) -> Ask {
    let columns =
        json!([{"name":"id","path":"id"},{"name":"whose","path":"meta.tag.where(system = 'urn:whose').code.first()"}]);
    let view = json!({"resourceType":"ViewDefinition","status":"active","resource":ty,"select":[{"column":columns}]});
    let mut parameters = vec![json!({"name":"viewResource","resource":view})];
    parameters.extend(patient.map(|patient| json!({"name":"patient","valueReference":{"reference":patient}})));
    Ask::Run {
        path: format!("/fhir/ViewDefinition/$run?{ty}"),
        body: json!({"resourceType":"Parameters","parameter":parameters}).to_string(),
    }
}

/// The Conditions that a text tells of: no other records have the texts of their codes but those of the same person.
fn told_of(text: &str) -> Vec<(String, String)> {
    let text = squeezed(text);
    let everybody = ["local", "other", "test"]
        .into_iter()
        .flat_map(|label| ["ann", "ben"].map(|id| (label, id)));
    everybody
        .filter(|(label, id)| text.contains(&squeezed(&format!("of {id}, {label}"))))
        .map(|(label, id)| {
            (
                format!("Condition/ill-{id}"),
                json!(format!("{label}-{id}")).to_string(),
            )
        })
        .collect()
}

/// The records in an answer, included ones too, in order. OperationOutcomes do not count, and neither do the records
/// that a document adds. Of documents, the records follow that their texts tell of.
fn shown(ask: &Ask, answer: &Answer) -> Vec<(String, String)> {
    assert!(answer.status < 500, "{ask:?}: {}", answer.text);
    if answer.status != 200 {
        return Vec::new();
    }
    if let Ask::Pages(_) = ask {
        return told_of(&answer.text);
    }
    let body = answer.json();
    if body["type"] == "document" || body["type"] == "collection" {
        let entries = body["entry"].as_array().unwrap();
        let marked = entries
            .iter()
            .map(|entry| mark(&entry["resource"]))
            .filter(|(_, whose)| !whose.is_empty());
        let embedded = entries
            .iter()
            .filter_map(|entry| entry["resource"]["content"][0]["attachment"]["data"].as_str());
        let pages = embedded
            .filter_map(|data| STANDARD.decode(data).ok())
            .filter(|bytes| bytes.starts_with(b"%PDF"));
        let pages: Vec<_> = pages.flat_map(|bytes| told_of(&text(&bytes))).collect();
        return marked.chain(told_of(&answer.text)).chain(pages).collect();
    }
    if let Ask::Run { path, .. } = ask {
        let ty = path.rsplit('?').next().unwrap();
        let rows = body["rows"].as_array().unwrap().clone();
        let row = |row: Value| {
            (
                format!("{ty}/{}", row["id"].as_str().unwrap()),
                row["whose"].to_string(),
            )
        };
        return rows.into_iter().map(row).collect();
    }
    let entries = match body["resourceType"].as_str() {
        Some("Bundle") => body["entry"].as_array().cloned().unwrap_or_default(),
        _ => vec![json!({"resource": body})],
    };
    let resources = entries.iter().map(|entry| &entry["resource"]);
    resources
        .filter(|resource| resource["resourceType"] != "OperationOutcome")
        .map(mark)
        .collect()
}

fn links(answer: &Answer) -> BTreeMap<String, String> {
    if answer.status != 200 || !answer.text.starts_with('{') {
        return BTreeMap::new();
    }
    let links = answer.json()["link"].as_array().cloned().unwrap_or_default();
    let link = |link: &Value| {
        let path = link["url"].as_str().unwrap().strip_prefix(BASE).unwrap().to_owned();
        (link["relation"].as_str().unwrap().to_owned(), path)
    };
    links.iter().map(link).collect()
}

/// Checks that an answer shows only visible records.
fn within(who: &str, ask: &Ask, answer: &Answer, may_see: &Shown) {
    for record in shown(ask, answer) {
        assert!(may_see.contains(&record), "{who} sees {record:?} by {ask:?}");
    }
}

/// Everything in an answer that may reveal something.
fn told(ask: &Ask, answer: &Answer) -> Value {
    let mut body = match ask {
        Ask::Pages(_) => json!(answer.text),
        _ if answer.status == 200 => answer.json(),
        _ => Value::Null,
    };
    let about = match answer.status {
        200 => body["total"].clone(),
        // An error in words. The snapshot in a link is not secret.
        _ => json!(answer.text),
    };
    let links: Vec<_> = links(answer)
        .into_iter()
        .map(|(relation, path)| (relation, without_tag(&path)))
        .collect();
    let headers = [
        "content-type",
        "etag",
        "x-resource-count",
        "x-next-link",
        "server-timing",
        "vary",
    ];
    let headers = headers.map(|name| without_tag(answer.header(name)));
    neutral(&mut body);
    if body["resourceType"] == "Bundle" {
        body["id"] = Value::Null;
    }
    json!({"status": answer.status, "shown": shown(ask, answer), "about": about, "links": links, "headers": headers, "body": body})
}

/// Removes times and tags from an answer, because they differ between servers.
fn neutral(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_tag(text),
        Value::Array(items) => items.iter_mut().for_each(neutral),
        Value::Object(members) => {
            members.remove("lastUpdated");
            members.values_mut().for_each(neutral);
        }
        _ => {}
    }
}

/// A link's address without its encrypted part, which must have a fixed length.
fn without_tag(path: &str) -> String {
    let Some((before, rest)) = path.split_once("_tag=%7E%7E") else {
        return path.to_owned();
    };
    let (tag, after) = rest.split_at(rest.find('&').unwrap_or(rest.len()));
    format!("{before}_tag={}{after}", "x".repeat(tag.len()))
}

#[test]
fn nobody_sees_or_learns_of_anothers_records() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let config = ProptestConfig {
        cases: 160,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(7),
        ..ProptestConfig::default()
    };
    let anns = &tokens["ann"];
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let all_asked = std::cell::RefCell::new((0, 0));
    let held = runner.run(&asks(), |ask| {
        for (who, (token, may_see)) in tokens {
            let answer = ask.of(whole, token);
            within(who, &ask, &answer, may_see);
            let mut counts = all_asked.borrow_mut();
            *counts = (counts.0 + 1, counts.1 + usize::from(!shown(&ask, &answer).is_empty()));
            drop(counts);
            if !["all", "ben", "others"].contains(who) {
                continue;
            }
            // Another token's links lead Ann no further than her own.
            for (relation, path) in links(&answer) {
                let followed = Ask::Get(path);
                let answer = followed.of(whole, &anns.0);
                within(
                    &format!("Ann, by {who}'s {relation} link,"),
                    &followed,
                    &answer,
                    &anns.1,
                );
            }
        }
        // Page by page, Ann gets the answers of a server without other people's records.
        let mut pages = Some((ask.clone(), ask.clone()));
        for _ in 0..6 {
            let Some((here, there)) = pages.take() else { break };
            let (answer, expected) = (here.of(whole, &anns.0), there.of(alone, anns_alone));
            let (is, should) = (told(&here, &answer), told(&there, &expected));
            prop_assert_eq!(is, should, "{:?}", here);
            let next = |answer| links(answer).remove("next");
            if let (Some(here), Some(there)) = (next(&answer), next(&expected)) {
                pages = Some((Ask::Get(here), Ask::Get(there)));
            }
        }
        Ok(())
    });
    if let Err(error) = held {
        panic!("{error}");
    }
    let (asked, with_rows) = all_asked.into_inner();
    assert!(with_rows * 4 > asked, "{with_rows} of {asked} show something");
}

/// Canonicals follow URLs, which several people's records may share. Each person is led only to their own.
#[test]
fn canonicals_lead_to_ones_own_records() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let (ann, may_see) = &tokens["ann"];
    for (query, count) in [
        ("RequestGroup?_include=RequestGroup:instantiates-canonical", 2),
        ("Contract?_revinclude=RequestGroup:instantiates-canonical", 2),
        ("Contract?_has:RequestGroup:instantiates-canonical:status=active", 1),
        (
            "PlanDefinition?_has:RequestGroup:instantiates-canonical:status=active",
            0,
        ),
        ("RequestGroup?instantiates-canonical:Contract.patient=ann", 1),
        ("RequestGroup?instantiates-canonical:Contract.patient=ben", 0),
        ("RequestGroup?instantiates-canonical:PlanDefinition.url=urn:plan", 0),
        (
            "RequestGroup?_filter=instantiates-canonical.url%20eq%20%22urn:plan%22",
            0,
        ),
    ] {
        let ask = Ask::Get(format!("/fhir/{query}"));
        let (answer, expected) = (ask.of(whole, ann), ask.of(alone, anns_alone));
        within("Ann", &ask, &answer, may_see);
        assert_eq!(shown(&ask, &answer).len(), count, "{query}: {}", answer.text);
        assert_eq!(told(&ask, &answer), told(&ask, &expected), "{query}");
    }
}

/// System searches skipped types without any records. The `self` link, the order of includes and refusals then revealed
/// which types other people had.
#[test]
fn searches_over_types_do_not_tell_of_what_types_others_have() {
    let servers = servers();
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = &servers;
    let ann = &tokens["ann"].0;
    for query in [
        "_type=Observation,Group,Appointment&_include=Group:member&_include=Appointment:actor",
        "_type=Patient,Group,Schedule&_include=Group:member&_include=Schedule:actor",
        "_type=Observation,Group&_include=Group:member&_summary=text",
        "_revinclude=*&_count=4&_offset=4",
        "_include=*&_revinclude=Observation:performer&_count=50",
        "_type=Practitioner,Patient,Appointment,Organization&_revinclude=*&_include=*",
    ] {
        let ask = Ask::Get(format!("/fhir?{query}"));
        let (answer, expected) = (ask.of(whole, ann), ask.of(alone, anns_alone));
        assert_eq!(told(&ask, &answer), told(&ask, &expected), "{query}");
    }
}

/// The `_tag` of a link named the file and the row at which a page ended, and the numbers of snapshots and erasures.
/// Everybody could decode it, and other people's rows are before one's own.
#[test]
fn tags_of_links_are_read_by_the_server_only() {
    use base64::Engine as _;
    let servers = servers();
    let decoded = |path: &str| {
        let tag = path.split("_tag=%7E%7E").nth(1).unwrap().split('&').next().unwrap();
        base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(tag).unwrap()
    };
    let ann = &servers.tokens["ann"].0;
    for search in [
        "Observation?_count=1",
        "Observation?_count=1&_sort=date&_total=accurate",
    ] {
        let mut tags = Vec::new();
        let mut next = Some(format!("/fhir/{search}"));
        while let Some(path) = next.take() {
            let answer = servers.whole.get(&path, ann);
            let mut links = links(&answer);
            tags.push(decoded(&links["first"]));
            next = links.remove("next");
            tags.extend(next.as_deref().map(decoded));
        }
        tags.sort();
        tags.dedup();
        // One without a position and a total, and one for each further page.
        assert!(tags.len() >= 3, "{search}: {}", tags.len());
        for (at, tag) in tags.iter().enumerate() {
            assert_eq!(tag.len(), tags[0].len());
            for other in &tags[at + 1..] {
                let same = tag.iter().zip(other).filter(|(one, other)| one == other).count();
                assert!(
                    same * 4 < tag.len(),
                    "{search}: {same} of {} bytes are the same",
                    tag.len()
                );
            }
        }
    }
}

/// `$expunge` erases for good, so nobody may send it for another person. The token of a server without that person is
/// refused in the same words.
#[test]
fn nobody_erases_anothers_records() {
    let Servers {
        whole,
        alone,
        tokens,
        anns_alone,
    } = servers();
    let expunge = |server: &Server, id: &str, token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        server.send("POST", &format!("/fhir/Patient/{id}/$expunge"), &headers, "")
    };
    let count = |token: &str| whole.get("/fhir?_summary=count", token).json()["total"].clone();
    let before: Vec<Value> = tokens.values().map(|(token, _)| count(token)).collect();
    for (who, (token, _)) in &tokens {
        for id in ["ann", "ben", "zoe"] {
            let is_patients = who.ends_with("ann") || *who == "ben";
            if is_patients && who.ends_with(id) {
                continue;
            }
            let answer = expunge(&whole, id, token);
            let expected = if is_patients {
                (404, "not-found")
            } else {
                (422, "processing")
            };
            assert_eq!((answer.status, &*answer.issue()), expected, "{who}: {id}");
        }
    }
    let same = |id: &str| {
        let refusals = [expunge(&whole, id, &tokens["ann"].0), expunge(&alone, id, &anns_alone)];
        assert_eq!(refusals[0].text, refusals[1].text, "{id}");
    };
    ["ben", "zoe"].into_iter().for_each(same);
    let after: Vec<Value> = tokens.values().map(|(token, _)| count(token)).collect();
    assert!(
        before == after && before.iter().all(|count| count.as_u64() > Some(10)),
        "{before:?} {after:?}"
    );
}
