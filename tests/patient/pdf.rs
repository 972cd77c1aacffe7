//! `$pdf` and `tabularium pdf`: the pages show every record and the attached documents of the patient, and no other
//! person's.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tabularium::http::Limits;
use tabularium::ingest::{Options, Session};

#[cfg(target_os = "linux")]
use crate::harness::command::peak;
use crate::harness::command::{done, imported, record, refuses_what_all_refuse, run};
use crate::harness::server::Server;
use crate::harness::shared;
use crate::pdf::reading::{assert_in_order, pages, squeezed, text};

const PDF: &str = "/fhir/Patient/$PATIENT_ID/$pdf";

/// One resource of Ann for each of many sections, her documents, and Ben.
fn records() -> Vec<Value> {
    let ann = json!({"reference": "Patient/ann", "display": "Ann"});
    let html = STANDARD.encode("<h1>Letter</h1><p>Dear Ann</p>");
    vec![
        json!({"resourceType":"Patient","id":"ann","name":[{"given":["Ann"],"family":"Núñez"}],"birthDate":"1970-02-01","gender":"female"}),
        json!({"resourceType":"AllergyIntolerance","id":"al","patient":ann,"code":{"text":"Peanut allergy"},"criticality":"high"}),
        json!({"resourceType":"Condition","id":"c1","subject":ann,"code":{"text":"Active asthma"},
            "clinicalStatus":{"coding":[{"code":"active"}]}}),
        json!({"resourceType":"Condition","id":"c2","subject":ann,"code":{"text":"Healed fracture"},
            "clinicalStatus":{"coding":[{"code":"resolved"}]}}),
        json!({"resourceType":"MedicationRequest","id":"m","subject":ann,"status":"active","intent":"order",
            "medicationCodeableConcept":{"text":"Atorvastatin"},"dosageInstruction":[{"text":"one at night"}]}),
        json!({"resourceType":"Observation","id":"v","status":"final","subject":ann,"code":{"text":"Body weight"},
            "category":[{"coding":[{"code":"vital-signs"}]}],"effectiveDateTime":"2024-03-01","valueQuantity":{"value":70.5,"unit":"kg"}}),
        json!({"resourceType":"Observation","id":"l","status":"final","subject":ann,"code":{"text":"Glucose"},
            "category":[{"coding":[{"code":"laboratory"}]}],"valueQuantity":{"value":95,"unit":"mg/dL"}}),
        json!({"resourceType":"Observation","id":"n","status":"final","subject":ann,"code":{"text":"Uncategorized thing"},"valueString":"seen"}),
        json!({"resourceType":"DocumentReference","id":"d","status":"current","subject":ann,"type":{"text":"Letter"},
            "content":[{"attachment":{"contentType":"text/html","data":html,"title":"Letter to Ann"}},
                       {"attachment":{"contentType":"text/plain","url":"Binary/b","title":"Plain note"}},
                       {"attachment":{"contentType":"application/dicom","url":"https://elsewhere.example/scan"}}]}),
        json!({"resourceType":"Binary","id":"b","contentType":"text/plain","securityContext":ann,"data":STANDARD.encode("kept as Binary")}),
        json!({"resourceType":"Binary","id":"b2","contentType":"text/plain","securityContext":{"reference":"DocumentReference/d"},
            "data":STANDARD.encode("kept for a letter")}),
        json!({"resourceType":"Patient","id":"ben","name":[{"family":"Bensurname"}]}),
        json!({"resourceType":"Condition","id":"ill","subject":{"reference":"Patient/ben"},"code":{"text":"Bensillness"}}),
    ]
}

fn get(server: &Server, path: &str, token: &str) -> (u16, ureq::http::HeaderMap, Vec<u8>) {
    server.send_bytes("GET", path, &[("authorization", &format!("Bearer {token}"))], &[])
}

#[test]
fn every_record_stands_in_its_section() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (path, token) in [(PDF, &ann), ("/fhir/Patient/ann/$pdf", &application)] {
        let (status, headers, file) = get(&server, path, token);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(header("content-type").as_deref(), Some("application/pdf"));
        assert_eq!(
            header("content-disposition").as_deref(),
            Some("attachment; filename=\"ann.pdf\"")
        );
        assert_eq!(header("x-pdf-sources-total").as_deref(), Some("1"));
        assert_eq!(header("x-pdf-sources-failed").as_deref(), Some("0"));
        assert_eq!(header("x-pdf-sources-failed-names"), None);
        assert!(header("x-pdf-resource-count").unwrap().parse::<u32>().unwrap() >= 9);
        let expected = [
            "Health records of Ann Núñez, born 1970-02-01",
            "Demographics",
            "Allergies",
            "Peanut allergy",
            "Active Problems",
            "Active asthma",
            "Medications",
            "Atorvastatin",
            "one at night",
            "Vital Signs",
            "Body weight",
            "70.5 kg",
            "Lab Results",
            "Glucose",
            "95 mg/dL",
            "Documents",
            "History of Past Illness",
            "Healed fracture",
            "Other Records",
            "Uncategorized thing",
            "Attached documents",
            "Letter to Ann",
            "Dear Ann",
            "kept as Binary",
            "https://elsewhere.example/scan",
        ];
        assert_in_order(&file, &expected);
        assert!(!text(&file).contains("Bens"), "Ben's records are not Ann's");
    }
}

/// A Binary's `securityContext` was ignored. So patients could not see imported Binaries, and the pages lacked them.
#[test]
fn an_imported_binary_is_its_patients_and_nobody_elses() {
    let server = Server::imported(&records());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    for (id, expected) in [("b", "kept as Binary"), ("b2", "kept for a letter")] {
        let found = |token: &str| {
            let (status, _, bytes) = get(&server, &format!("/fhir/Binary/{id}"), token);
            (status, bytes)
        };
        assert_eq!(found(&ann), (200, expected.as_bytes().to_vec()));
        assert_eq!(found(&server.application_token()).0, 200);
        assert_eq!(found(&ben).0, 404, "{id}");
    }
    let search = server.get("/fhir/Binary?_total=accurate", &ben);
    assert_eq!((search.status, &search.json()["total"]), (200, &json!(0)));
    let (_, _, file) = get(&server, PDF, &ben);
    assert!(!text(&file).contains(&squeezed("kept as Binary")));
}

/// A server that makes one document at a time per credential, with a patient whose pages take a while.
fn slow_server() -> Server {
    let ann = json!({"reference": "Patient/ann"});
    let note = "A long note about what was seen and done that day. ".repeat(40);
    let mut records = records();
    records.extend((0..2_000).map(|at| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final", "subject": ann,
            "code": {"text": "Note"}, "valueString": note})
    }));
    let limits = Limits {
        documents: 1,
        patience: Duration::from_millis(50),
        ..Limits::default()
    };
    Server::limited(&records, limits)
}

/// Sends a request without waiting for the response.
fn asked(server: &Server, path: &str, token: &str) -> TcpStream {
    let mut client = TcpStream::connect(server.address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    client
}

/// Pages were completed for clients that had disconnected. A credential makes two files at a time, so a third request
/// shows whether the work continues. An unknown authorization is refused only after the wait for a place.
#[test]
fn a_client_that_leaves_stops_its_pages() {
    let server = slow_server();
    let token = server.patient_token("ann");
    let probe = || server.get(&format!("{PDF}?patient-authorization-id=none"), &token);
    assert_eq!(probe().status, 404);
    let clients = [asked(&server, PDF, &token), asked(&server, PDF, &token)];
    let turned_away = std::iter::repeat_with(&probe)
        .find(|answer| answer.status != 404)
        .unwrap();
    assert_eq!((turned_away.status, turned_away.issue().as_str()), (429, "throttled"));
    assert_eq!(turned_away.header("retry-after"), "1");
    let ben = get(&server, PDF, &server.patient_token("ben"));
    assert_eq!(ben.0, 200, "others are not kept waiting");
    drop(clients);
    // Completing them would take several times as long.
    let more = std::iter::repeat_with(&probe)
        .take(60)
        .take_while(|answer| answer.status == 429);
    assert!(more.count() < 60, "the pages are made though nobody waits for them");
    assert_eq!(probe().status, 404);
}

/// A large file is on the disk without a name while it is sent.
#[test]
fn a_large_file_goes_out_whole_and_leaves_nothing() {
    let mut records = records();
    let mut state = 7_u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let noise: Vec<u8> = noise.take(3 << 20).collect();
    records.push(
        json!({"resourceType":"DocumentReference","id":"scan","status":"current","subject":{"reference":"Patient/ann"},
        "content":[{"attachment":{"contentType":"application/dicom","data":STANDARD.encode(&noise)}}]}),
    );
    let server = Server::imported(&records);
    let names = || -> Vec<String> {
        let listed = std::fs::read_dir(server.folder().join("data")).unwrap();
        listed
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let before = names();
    for (path, begin) in [(PDF.to_owned(), &b"%PDF-"[..]), (format!("{PDF}?_format=zip"), b"PK")] {
        let (status, headers, file) = get(&server, &path, &server.patient_token("ann"));
        let length: usize = headers["content-length"].to_str().unwrap().parse().unwrap();
        assert_eq!((status, file.len()), (200, length));
        assert!(length > 3 << 20 && file.starts_with(begin), "{length}");
        assert_eq!(names(), before);
    }
}

#[test]
fn an_archive_has_a_file_for_each_source() {
    let server = Server::imported(&records());
    let (status, headers, bytes) = get(&server, &format!("{PDF}?_format=zip"), &server.patient_token("ann"));
    assert_eq!(
        (status, headers["content-type"].to_str().unwrap()),
        (200, "application/zip")
    );
    assert_eq!(
        headers["content-disposition"].to_str().unwrap(),
        "attachment; filename=\"ann.zip\""
    );
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    assert_eq!(archive.len(), 1);
    let mut file = Vec::new();
    let mut inner = archive.by_index(0).unwrap();
    assert_eq!(inner.name().unwrap(), "oauth-imported.pdf");
    inner.read_to_end(&mut file).unwrap();
    assert_in_order(&file, &["Peanut allergy", "Dear Ann"]);
}

#[test]
fn others_records_and_wrong_requests_are_refused() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (path, token, status, code) in [
        ("/fhir/Patient/ben/$pdf", &ann, 404, "not-found"),
        ("/fhir/Patient/nobody/$pdf", &application, 404, "not-found"),
        (PDF, &application, 422, "processing"),
        (
            "/fhir/Patient/$PATIENT_ID/$pdf?patient-authorization-id=unknown",
            &ann,
            404,
            "not-found",
        ),
        ("/fhir/Patient/$PATIENT_ID/$pdf?_format=docx", &ann, 400, "invalid"),
    ] {
        let answer = server.get(path, token);
        assert_eq!((answer.status, answer.issue().as_str()), (status, code), "{path}");
    }
}

/// The addresses by which a record may name a Binary.
fn addresses_of(server: &Server, id: &str) -> Vec<String> {
    let base = format!("http://{}", server.address);
    vec![
        format!("Binary/{id}"),
        format!("{base}/fhir/Binary/{id}"),
        format!("{base}//fhir//Binary/{id}"),
        format!("/fhir/Binary/{id}"),
        format!("Binary/{id}/_history/1"),
        format!("Binary/{id}?_format=json"),
        format!("Binary/../Binary/{id}"),
        format!("Patient/ann/../../Binary/{id}"),
        format!("https://elsewhere.example/fhir/Binary/{id}"),
    ]
}

/// No address in Ann's records brings Ben's Binary into her pages. That holds even if an application requests them,
/// which may read Ben's Binaries itself. Documents used to be read through the application's scope, so Ben's were
/// included.
#[test]
fn no_address_leads_to_another_patients_document() {
    let mut records = records();
    let of_ben = |id: &str| {
        json!({"resourceType":"Binary","id":id,"contentType":"text/plain",
            "securityContext":{"reference":"Patient/ben"},"data":STANDARD.encode("kept of Benjamin")})
    };
    records.extend([of_ben("bens"), of_ben("b1")]);
    let server = Server::imported(&records);
    server
        .store
        .settings()
        .set_base_url(&format!("http://{}", server.address))
        .unwrap();
    let named: Vec<String> = ["bens", "b1"].iter().flat_map(|id| addresses_of(&server, id)).collect();
    let content: Vec<Value> = named
        .iter()
        .map(|url| json!({"attachment": {"contentType": "text/plain", "url": url}}))
        .collect();
    let reference = json!({"resourceType":"DocumentReference","id":"sly","status":"current",
        "subject":{"reference":"Patient/ann"},"content":content});
    let report = json!({"resourceType":"DiagnosticReport","id":"sly","status":"final","code":{"text":"sly"},
        "subject":{"reference":"Patient/ann"},"presentedForm":[{"url":"Binary/bens"}]});
    let media = json!({"resourceType":"Media","id":"sly","status":"completed","subject":{"reference":"Patient/ann"},
        "content":{"url":"Binary/bens"}});
    let mut writer = server.lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in [reference, report, media] {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
    drop(writer);
    server.lake.refresh().unwrap();
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for token in [&ann, &application] {
        let expected = if token == &ann { 404 } else { 200 };
        assert_eq!(server.get("/fhir/Binary/bens", token).status, expected);
    }
    let (status, headers, by_patient) = get(&server, PDF, &ann);
    assert_eq!((status, headers["x-pdf-sources-failed"].to_str().unwrap()), (200, "0"));
    let (status, _, by_application) = get(&server, "/fhir/Patient/ann/$pdf", &application);
    assert_eq!(status, 200);
    let by_command = record("pdf", server.folder(), &["--patient", "ann"]);
    assert!(
        by_command.status.success(),
        "{}",
        String::from_utf8_lossy(&by_command.stderr)
    );
    for (way, file) in [
        ("patient", by_patient),
        ("application", by_application),
        ("command", by_command.stdout),
    ] {
        let text = text(&file);
        assert!(!text.contains(&squeezed("kept of Benjamin")), "{way}");
        // The one that is always missing, the tricky addresses, and those of the report and of the picture.
        assert_eq!(text.matches("Notshown:").count(), 1 + named.len() + 2, "{way}");
    }
}

/// The texts of a resource's concepts, which a reader would look for.
fn named(resource: &Value) -> Vec<String> {
    let concept = ["code", "vaccineCode", "medicationCodeableConcept"]
        .iter()
        .map(|name| &resource[*name]);
    let texts = concept.filter_map(|concept| {
        let text = concept["text"].as_str();
        text.or_else(|| concept["coding"][0]["display"].as_str()).map(squeezed)
    });
    texts.filter(|text| text.is_ascii()).collect()
}

/// The document of each real person contains all their coded records.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn documents_of_real_people_have_all_their_records() {
    let data = shared();
    let scratch = tempfile::tempdir().unwrap();
    let lake = scratch.path().join("lake");
    let folder = lake.to_str().unwrap();
    let input = data.join("data/synthea");
    done(&["import", "--data", folder, input.to_str().unwrap()]);
    let listed = run(&["search", "--data", folder, "Patient?_count=3&_sort=_id"]);
    let bundle: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let people = bundle["entry"].as_array().unwrap();
    assert!(!people.is_empty());
    for person in people {
        let id = person["resource"]["id"].as_str().unwrap();
        let out = scratch.path().join("out.pdf");
        done(&["pdf", "--data", folder, "--patient", id, "--out", out.to_str().unwrap()]);
        let file = std::fs::read(&out).unwrap();
        let everything = run(&["everything", "--data", folder, "--patient", id]);
        let everything: Value = serde_json::from_slice(&everything.stdout).unwrap();
        let resources = everything["entry"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["resource"]);
        let expected: BTreeSet<String> = resources.flat_map(named).collect();
        assert!(expected.len() > 5, "{id}");
        // Lines of one cell stand between those of others, so the test searches for words.
        let found = text(&file);
        let lost: Vec<&String> = expected
            .iter()
            .filter(|text| !found.contains(&text[..text.len().min(12)]))
            .collect();
        assert!(lost.is_empty(), "{id}: {lost:?}");
        assert!(pages(&file).len() > 1);
    }
}

/// Ten thousand rows of a table need at most 64 MiB more than a document with one.
#[test]
#[cfg(target_os = "linux")]
fn a_long_table_takes_little_memory() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    let mut lines: Vec<String> = ["one", "many"]
        .map(|id| json!({"resourceType":"Patient","id":id,"name":[{"family":"Roe"}]}).to_string())
        .to_vec();
    let row = |id: String, patient: &str, at: usize| {
        json!({"resourceType":"Observation","id":id,"status":"final","subject":{"reference":format!("Patient/{patient}")},
            "category":[{"coding":[{"code":"laboratory"}]}],"code":{"text":"Glucose [Mass/volume] in Serum or Plasma"},
            "effectiveDateTime":format!("20{:02}-03-04", at % 25),"valueQuantity":{"value":at % 300,"unit":"mg/dL"}})
        .to_string()
    };
    lines.push(row("o".to_owned(), "one", 0));
    lines.extend((0..10_000).map(|at| row(format!("o{at}"), "many", at)));
    imported(&folder, &lines.join("\n"));
    let data = folder.to_str().unwrap();
    let [one, many] = ["one", "many"].map(|id| peak(&["pdf", "--patient", id, "--data", data]));
    println!("one row {} MiB, 10,000 rows {} MiB", one >> 20, many >> 20);
    assert!(many < one + (64 << 20), "one {one}, many {many}");
}

#[test]
fn the_command_says_what_is_wrong() {
    let scratch = tempfile::tempdir().unwrap();
    let lake = scratch.path().join("lake");
    imported(&lake, "{\"resourceType\":\"Patient\",\"id\":\"ann\"}\n");
    refuses_what_all_refuse("pdf", &lake);
    let done = record("pdf", &lake, &["--patient", "ann"]);
    assert!(done.status.success() && done.stdout.starts_with(b"%PDF-"));
}
