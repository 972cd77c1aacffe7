//! `$everything` by all its APIs: which records each caller gets, their contents, and the refusals.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::{Value, json};
use tabularium::consent::{Actor, NewApplication};
use tabularium::http::{Limits, Rate, Rates};
use tabularium::ingest::{Options, Session};
use tabularium::lake::{Lake, Mode, PatientScope};

use super::{all, entries, names, ok};
use crate::harness::server::{Answer, Server};

const EVERYTHING: &str = "/fhir/Patient/$PATIENT_ID/$everything";

/// Ann with her references of many kinds; Ben, who has the same doctor.
fn records() -> Vec<Value> {
    let ann = json!({"reference": "Patient/ann"});
    vec![
        json!({"resourceType":"Observation","id":"o1","status":"final","code":{"text":"c"},"subject":ann,
            "effectiveDateTime":"2020-05-01","performer":[{"reference":"Practitioner/doc"}]}),
        json!({"resourceType":"Observation","id":"o2","status":"final","code":{"text":"c"},"subject":ann,
            "effectivePeriod":{"start":"2021-01-01","end":"2023-01-01"}}),
        json!({"resourceType":"Observation","id":"o3","status":"final","code":{"text":"c"},"subject":ann}),
        json!({"resourceType":"Coverage","id":"cover","status":"active","beneficiary":ann,
            "payor":[{"reference":"Organization/payer"}]}),
        json!({"resourceType":"Encounter","id":"visit","status":"finished","class":{"code":"AMB"},"subject":ann,
            "period":{"start":"2019-01-01","end":"2019-01-02"},
            "location":[{"location":{"reference":"Location/ward"}}],
            "serviceProvider":{"reference":"Organization/clinic/_history/1"}}),
        json!({"resourceType":"MedicationRequest","id":"order","status":"active","intent":"order","subject":ann,
            "authoredOn":"2022-02-02","medicationReference":{"reference":"Medication/pill"},
            "contained":[{"resourceType":"PractitionerRole","id":"r","practitioner":{"reference":"Practitioner/inside"}}],
            "requester":{"reference":"#r"}}),
        json!({"resourceType":"Patient","id":"ann","identifier":[{"value":"1","assigner":{"reference":"Organization/assigner"}}],
            "extension":[{"url":"urn:x","valueReference":{"reference":"Practitioner/extended"}}]}),
        json!({"resourceType":"Medication","id":"pill","manufacturer":{"reference":"Organization/maker"}}),
        json!({"resourceType":"Location","id":"ward","managingOrganization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Organization","id":"clinic","partOf":{"reference":"Organization/trust"}}),
        json!({"resourceType":"Organization","id":"trust"}),
        json!({"resourceType":"Organization","id":"payer"}),
        json!({"resourceType":"Organization","id":"assigner"}),
        json!({"resourceType":"Organization","id":"maker"}),
        json!({"resourceType":"Organization","id":"elsewhere"}),
        json!({"resourceType":"Practitioner","id":"doc"}),
        json!({"resourceType":"Practitioner","id":"inside"}),
        json!({"resourceType":"Practitioner","id":"extended"}),
        json!({"resourceType":"Practitioner","id":"stranger"}),
        json!({"resourceType":"Device","id":"pump","patient":ann}),
        json!({"resourceType":"Patient","id":"ben","generalPractitioner":[{"reference":"Practitioner/doc"}]}),
        json!({"resourceType":"Condition","id":"ill","subject":{"reference":"Patient/ben"},"code":{"text":"i"}}),
    ]
}

const MATCHES: [&str; 7] = [
    "Patient/ann",
    "Coverage/cover",
    "Encounter/visit",
    "MedicationRequest/order",
    "Observation/o1",
    "Observation/o2",
    "Observation/o3",
];

const REFERRED: [&str; 10] = [
    "Location/ward",
    "Medication/pill",
    "Organization/assigner",
    "Organization/clinic",
    "Organization/maker",
    "Organization/payer",
    "Organization/trust",
    "Practitioner/doc",
    "Practitioner/extended",
    "Practitioner/inside",
];

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn post(server: &Server, token: &str, path: &str, content_type: &str, body: &str) -> Answer {
    let headers = [("authorization", &*bearer(token)), ("content-type", content_type)];
    server.send("POST", path, &headers, body)
}

fn strictly(server: &Server, token: &str, path: &str) -> Answer {
    server.send(
        "GET",
        path,
        &[("authorization", &bearer(token)), ("prefer", "handling=strict")],
        "",
    )
}

#[test]
fn a_patient_gets_the_compartment_and_what_it_refers_to() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (path, token) in [
        (EVERYTHING, &ann),
        ("/fhir/Patient/ann/$everything", &ann),
        ("/fhir/Patient/ann/%24everything", &ann),
        ("/fhir/Patient/ann/$everything", &application),
    ] {
        let bundle = ok(&server.get(path, token));
        let found = entries(&server, &bundle);
        assert_eq!(names(&found, "match"), MATCHES, "{path}");
        assert_eq!(names(&found, "include"), REFERRED, "{path}");
        let modes: Vec<bool> = found.iter().map(|(mode, _)| mode == "match").collect();
        assert!(
            modes.is_sorted_by(|one, other| one >= other),
            "what is referred to comes last"
        );
        assert!(bundle["id"].is_string() && bundle["total"].is_null());
        // Stored texts are sent unchanged.
        let visit = bundle["entry"]
            .as_array()
            .unwrap()
            .iter()
            .find(|entry| entry["resource"]["id"] == "visit");
        let read = server.get("/fhir/Encounter/visit", token).json();
        assert_eq!(visit.unwrap()["resource"], read);
    }
    let ben = server.patient_token("ben");
    let found = all(&server, &ben, EVERYTHING);
    assert_eq!(names(&found, "match"), ["Patient/ben", "Condition/ill"]);
    assert_eq!(names(&found, "include"), ["Practitioner/doc"]);
}

#[test]
fn nobody_gets_anything_by_an_id_that_is_not_theirs_to_see() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (id, token) in [
        ("ben", &ann),
        ("nobody", &ann),
        ("nobody", &application),
        ("no%20id", &application),
        (&"x".repeat(65), &application),
    ] {
        let path = format!("/fhir/Patient/{id}/$everything");
        for answer in [
            server.get(&path, token),
            server.get(&format!("{path}?_count=0"), token),
            server.get(&format!("{path}?_type=Organization,Practitioner"), token),
            post(
                &server,
                token,
                &path,
                "application/fhir+json",
                r#"{"resourceType":"Parameters"}"#,
            ),
        ] {
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (404, "not-found"),
                "{id}: {}",
                answer.text
            );
        }
    }
    let answer = server.get(EVERYTHING, &application);
    assert_eq!((answer.status, answer.issue().as_str()), (422, "processing"));
    assert_eq!(server.send("GET", EVERYTHING, &[], "").status, 401);
    // Other applications' Patients are unknown here.
    let new = NewApplication {
        name: "other",
        ..NewApplication::default()
    };
    let (other, _) = server.store.applications().create(&new, Actor::Operator).unwrap();
    let other = server.tokens.for_application(&other.id, Mode::Live).unwrap().token;
    assert_eq!(server.get("/fhir/Patient/ann/$everything", &other).status, 404);
    // No other type has the operation.
    assert_eq!(
        server.get("/fhir/Organization/clinic/$everything", &application).status,
        404
    );
    let answer = server.send("PUT", EVERYTHING, &[("authorization", &bearer(&ann))], "");
    assert_eq!((answer.status, answer.issue().as_str()), (404, "not-supported"));
}

#[test]
fn an_erased_patient_is_unknown_on_every_page() {
    let server = Server::imported(&records());
    let application = server.application_token();
    let path = "/fhir/Patient/ann/$everything";
    let first = ok(&server.get(&format!("{path}?_count=2"), &application));
    let next = super::link(&server, &first, "next").unwrap();
    let scope = PatientScope {
        patients: vec!["ann".to_owned()],
        owners: server.lake.owners_of("local", "ann"),
        authorizations: Vec::new(),
    };
    let done = server
        .lake
        .writer()
        .unwrap()
        .erase(Mode::Live, "local", &scope)
        .unwrap();
    assert!(done.rows > 0);
    for path in [path, &next] {
        let answer = server.get(path, &application);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
    }
}

#[test]
fn types_and_dates_narrow_what_is_given_out() {
    let server = Server::imported(&records());
    let ann = server.patient_token("ann");
    let check = |query: &str, matches: &[&str], referred: &[&str]| {
        let found = all(&server, &ann, &format!("{EVERYTHING}?{query}"));
        assert_eq!(names(&found, "match"), matches, "{query}");
        assert_eq!(names(&found, "include"), referred, "{query}");
    };
    check("_type=Observation", &MATCHES[4..], &[]);
    // `_type` may be repeated, and may list several types.
    check(
        "_type=Observation,Patient&_type=Coverage",
        &[MATCHES[0], MATCHES[1], MATCHES[4], MATCHES[5], MATCHES[6]],
        &[],
    );
    // The references come from the whole record, whatever else is shown.
    check("_type=Location,Medication", &[], &REFERRED[..2]);
    check("_type=Organization,Encounter", &["Encounter/visit"], &REFERRED[2..7]);
    // Types without a clinical date are always included. A resource without its type's date never matches a time.
    check(
        "start=2020-05-01&_type=Patient,Coverage,Encounter,Observation,MedicationRequest",
        &[
            "Patient/ann",
            "Coverage/cover",
            "MedicationRequest/order",
            "Observation/o1",
            "Observation/o2",
        ],
        &[],
    );
    check("start=2020-05-02&_type=Observation", &["Observation/o2"], &[]);
    check(
        "end=2020&_type=Observation,Encounter",
        &["Encounter/visit", "Observation/o1"],
        &[],
    );
    check(
        "start=2022-06&end=2022-07&_type=Observation,MedicationRequest",
        &["Observation/o2"],
        &[],
    );
    check("start=2024&_type=Observation", &[], &[]);
    // Performers of resources outside of the time are not referenced.
    check(
        "start=2024",
        &["Patient/ann", "Coverage/cover"],
        &["Organization/assigner", "Organization/payer", "Practitioner/extended"],
    );
}

#[test]
fn since_leaves_out_what_has_not_changed() {
    let server = Server::imported(&records());
    let ann = server.patient_token("ann");
    let first = ok(&server.get(EVERYTHING, &ann));
    let updated = |bundle: &Value| {
        let entries = bundle["entry"].as_array().unwrap().clone();
        let times = entries
            .into_iter()
            .map(|entry| entry["resource"]["meta"]["lastUpdated"].as_str().unwrap().to_owned());
        times.max().unwrap()
    };
    let before = updated(&first);
    // The lake's clock is the machine's, so an import now is later than all stored dates.
    let changed = [
        json!({"resourceType":"Coverage","id":"cover","status":"cancelled","beneficiary":{"reference":"Patient/ann"},
            "payor":[{"reference":"Organization/payer"}]}),
        json!({"resourceType":"Practitioner","id":"doc","active":true}),
    ];
    import(&server.lake, &changed);
    let now = updated(&ok(&server.get(&format!("{EVERYTHING}?_type=Coverage"), &ann)));
    assert!(now > before);
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("_since", &now)
        .finish();
    let found = all(&server, &ann, &format!("{EVERYTHING}?{query}"));
    assert_eq!(names(&found, "match"), ["Coverage/cover"]);
    // References of a changed resource are included even if they are old, and so are changed referenced resources.
    assert_eq!(names(&found, "include"), ["Organization/payer", "Practitioner/doc"]);
    let found = all(
        &server,
        &ann,
        &format!("{EVERYTHING}?_since=2100-01-01T00:00:00%2B01:00"),
    );
    assert_eq!(found, []);
    // An unencoded plus sign arrives as a space.
    let found = all(&server, &ann, &format!("{EVERYTHING}?_since=2000-01-01T00:00:00+01:00"));
    assert_eq!(found.len(), MATCHES.len() + REFERRED.len());
}

fn import(lake: &Lake, resources: &[Value]) {
    let mut writer = lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

#[test]
fn parameters_are_taken_from_a_body_as_well() {
    let server = Server::imported(&records());
    let ann = server.patient_token("ann");
    let query = "start=2020-05-02&_type=Observation&_type=Coverage&_count=1&_total=accurate";
    let expected = ok(&server.get(&format!("{EVERYTHING}?{query}"), &ann));
    assert_eq!(
        (expected["total"].as_u64(), entries(&server, &expected).len()),
        (Some(2), 1)
    );
    let parameters = json!({"resourceType":"Parameters","parameter":[
        {"name":"start","valueDate":"2020-05-02"},{"name":"_type","valueCode":"Observation"},
        {"name":"_type","valueCode":"Coverage"},{"name":"_count","valueInteger":1},{"name":"_total","valueCode":"accurate"}]});
    let some = json!({"resourceType":"Parameters","parameter":[
        {"name":"_type","valueString":"Observation,Coverage"},{"name":"_count","valuePositiveInt":1}]});
    let within = format!("{EVERYTHING}?start=2020-05-02&_total=accurate");
    for (path, content_type, body) in [
        (EVERYTHING, "application/fhir+json", parameters.to_string()),
        (EVERYTHING, "application/json; charset=utf-8", parameters.to_string()),
        (&within, "application/fhir+json", some.to_string()),
        (EVERYTHING, "application/x-www-form-urlencoded", query.to_owned()),
    ] {
        let page = ok(&post(&server, &ann, path, content_type, &body));
        assert_eq!(entries(&server, &page), entries(&server, &expected), "{path} {body}");
        // Links are GET requests with all parameters.
        let next = super::link(&server, &page, "next").unwrap();
        for part in [
            "start=2020-05-02",
            "_type=Observation%2CCoverage",
            "_count=1",
            "_total=accurate",
        ] {
            assert!(next.contains(part), "{next}");
        }
        let second = ok(&server.get(&next, &ann));
        assert_eq!(second["entry"][0]["resource"]["id"], "o2");
        assert_eq!(second["total"], 2);
    }
    let empty = ok(&post(&server, &ann, EVERYTHING, "application/fhir+json", ""));
    assert_eq!(entries(&server, &empty).len(), MATCHES.len() + REFERRED.len());
    for (content_type, body, status) in [
        ("application/fhir+json", "{", 400),
        ("application/fhir+json", r#"{"resourceType":"Patient"}"#, 400),
        (
            "application/fhir+json",
            r#"{"resourceType":"Parameters","parameter":[{"name":"start","valueReference":{}}]}"#,
            400,
        ),
        ("text/plain", "start=2020", 415),
    ] {
        assert_eq!(
            post(&server, &ann, EVERYTHING, content_type, body).status,
            status,
            "{body}"
        );
    }
}

#[test]
fn what_cannot_be_understood_is_named() {
    let server = Server::imported(&records());
    let ann = server.patient_token("ann");
    for (query, named) in [
        ("_type=Device", "Device"),
        ("_type=Observation,Nonsense", "Nonsense"),
        ("_type=DomainResource", "DomainResource"),
        ("start=soon", "start"),
        ("end=2020-02-30", "end"),
        ("_since=yesterday", "_since"),
        ("start=2020&start=2021", "start"),
        ("_count=many", "_count"),
        ("_total=some", "_total"),
        ("_offset=-1", "_offset"),
        ("_tag=~~x", "_tag"),
        ("_pretty=maybe", "_pretty"),
    ] {
        let answer = server.get(&format!("{EVERYTHING}?{query}"), &ann);
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{query}");
        assert!(answer.text.contains(named), "{query}: {}", answer.text);
    }
    let format = server.get(&format!("{EVERYTHING}?_format=xml"), &ann);
    assert_eq!(format.status, 406);
    // Unknown parameters are ignored, or refused on request.
    let whole = ok(&server.get(EVERYTHING, &ann));
    for query in [
        "_sort=date",
        "code=x",
        "_summary=true",
        "_elements=id",
        "start:exact=2020",
    ] {
        let path = format!("{EVERYTHING}?{query}");
        let page = ok(&server.get(&path, &ann));
        assert_eq!(entries(&server, &page), entries(&server, &whole), "{query}");
        let told = super::link(&server, &page, "self").unwrap();
        assert!(!told.contains(query.split('=').next().unwrap()), "{told}");
        let answer = strictly(&server, &ann, &path);
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{query}");
        assert!(answer.text.contains(query.split('=').next().unwrap()));
    }
    let taken =
        format!("{EVERYTHING}?start=2000&end=2030&_since=2000-01-01T00:00:00Z&_type=Patient&_count=5&_total=none");
    let answer = strictly(&server, &ann, &taken);
    assert_eq!(answer.header("preference-applied"), "handling=strict");
    ok(&answer);
}

#[test]
fn an_answer_may_be_indented_and_coded() {
    let server = Server::imported(&records());
    let ann = server.patient_token("ann");
    let plain = ok(&server.get(EVERYTHING, &ann));
    let indented = server.get(&format!("{EVERYTHING}?_pretty=true&_format=json"), &ann);
    assert!(indented.text.starts_with("{\n  \"resourceType\": \"Bundle\""));
    assert_eq!(entries(&server, &indented.json()), entries(&server, &plain));
    let headers = [("authorization", &*bearer(&ann)), ("accept-encoding", "zstd")];
    let (status, head, bytes) = server.send_bytes("GET", EVERYTHING, &headers, b"");
    assert_eq!((status, head["content-encoding"].to_str().unwrap()), (200, "zstd"));
    let decoded: Value = serde_json::from_slice(&zstd::decode_all(&bytes[..]).unwrap()).unwrap();
    assert_eq!(entries(&server, &decoded), entries(&server, &plain));
}

#[test]
fn whole_records_have_a_rate_of_their_own() {
    let limits = Limits {
        rates: Rates {
            records: Some(Rate {
                every: Duration::from_secs(3_600),
                burst: NonZeroU32::new(3).unwrap(),
            }),
            ..Rates::default()
        },
        ..Limits::default()
    };
    let server = Server::limited(&[], limits);
    let new = NewApplication {
        name: "one",
        ..NewApplication::default()
    };
    let (one, _) = server.store.applications().create(&new, Actor::Operator).unwrap();
    let one = server.tokens.for_application(&one.id, Mode::Live).unwrap().token;
    let path = "/fhir/Patient/nobody/$everything";
    for _ in 0..3 {
        assert_eq!(server.get(path, &one).status, 404);
    }
    let refused = server.get(path, &one);
    assert_eq!((refused.status, refused.issue().as_str()), (429, "throttled"));
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 3_000);
    assert_eq!(
        server.get("/fhir/Patient", &one).status,
        200,
        "searches are counted apart"
    );
    for _ in 0..5 {
        let operator = server.get(path, &server.application_token());
        assert_eq!(operator.status, 404, "the operator's is not counted");
    }
}

/// An unread record holds its credential's place no longer than its client is connected.
#[test]
fn reading_ends_when_the_client_leaves() {
    let text = "x".repeat(15_000);
    let mut records = records();
    records.extend((0..1_000).map(|at| {
        json!({"resourceType":"Communication","id":format!("m{at}"),"status":"completed","subject":{"reference":"Patient/ann"},
            "payload":[{"contentString":text}]})
    }));
    let folder = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(folder.path());
    import(&lake, &records);
    // One place per credential.
    let limits = Limits {
        records: 2,
        patience: Duration::from_secs(20),
        ..Limits::default()
    };
    let server = Server::over(folder, lake, limits);
    let ann = server.patient_token("ann");
    for _ in 0..4 {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let request = format!("GET {EVERYTHING} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {ann}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut beginning = [0; 1_000];
        stream.read_exact(&mut beginning).unwrap();
        assert!(beginning.starts_with(b"HTTP/1.1 200"));
    }
    // Fifteen megabytes do not fit into the buffers between a server and a client that does not read. So the four
    // requests above were not finished.
    let (status, _, bytes) = server.send_bytes("GET", EVERYTHING, &[("authorization", &bearer(&ann))], b"");
    assert_eq!(status, 200);
    let page: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(entries(&server, &page).len(), 1_000);
}
