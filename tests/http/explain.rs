//! How a search was executed, for authorized callers: over HTTP by `X-Explain`, on the command line by `explain`.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};

fn observation(id: &str, patient: &str, code: &str, year: &str) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final", "effectiveDateTime": year,
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "subject": {"reference": format!("Patient/{patient}")}})
}

/// Two files of Observations. One row has the code `8867-4` and a date in 2020.
fn server() -> Server {
    let (folder, lake) = records::lake();
    let of = |patient: &str, json| Record::new(json).of(&lake, patient);
    let first = [
        of(
            "anna",
            json!({"resourceType": "Patient", "id": "anna", "name": [{"family": "Secretive"}]}),
        ),
        of("ben", json!({"resourceType": "Patient", "id": "ben"})),
        of("anna", observation("a1", "anna", "8867-4", "2020")),
        of("ben", observation("b1", "ben", "8867-4", "2020")),
    ];
    records::commit(&lake, &first);
    records::commit(&lake, &[of("ben", observation("b2", "ben", "1234-5", "2024"))]);
    Server::explaining(folder, lake)
}

fn explained(server: &Server, token: &str, path: &str, form: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    server.send("GET", path, &[("authorization", &bearer), ("x-explain", form)], "")
}

/// Removes the explanation from a Bundle: its last entry.
fn plan(bundle: &mut Value) -> String {
    let last = bundle["entry"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(last["search"]["mode"], "outcome");
    assert_eq!(last["resource"]["resourceType"], "OperationOutcome");
    let issue = &last["resource"]["issue"][0];
    assert_eq!(
        (&issue["severity"], &issue["code"]),
        (&json!("information"), &json!("informational"))
    );
    issue["diagnostics"].as_str().unwrap().to_owned()
}

#[test]
fn the_answer_says_how_it_came_about() {
    let server = server();
    let token = server.application_token();
    let path = "/fhir/Observation?code=http://loinc.org|8867-4&date=lt2022&_sort=-_id&_include=Observation:subject&_total=accurate";
    let plain = server.get(path, &token).json();
    let answer = explained(&server, &token, path, "true");
    let mut bundle = answer.json();
    let text = plan(&mut bundle);
    assert_eq!(bundle["entry"], plain["entry"], "the answer is the same");
    for part in [
        "Observation in snapshot 2: a scan of the table",
        "code=http://loinc.org|8867-4  reads code.coding.code, code.coding.system",
        "sorted by -_id, then id",
        "files       1 of 2 read, 1 opened in vain",
        "row groups  1 of 2 met are read; 1 skipped: statistics of effective",
        "2 met, 0 pruned, 0 dropped by conditions, 2 out",
        "code=http://loinc.org|8867-4: 2 in, 2 out, nothing left of 0 of 1 row groups",
        "SortExec: TopK",
        "Patient: 2 of 2 resources fetched",
        "footers and page indexes:",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("Secretive"), "a plan holds nothing of the records");
    let timing = answer.header("server-timing");
    let steps: Vec<&str> = timing.split(", ").map(|step| step.split(';').next().unwrap()).collect();
    assert_eq!(
        steps,
        ["resolve", "others", "match", "fetch", "count", "include", "render"]
    );
    assert!(timing.contains(";dur="), "{timing}");
}

#[test]
fn what_a_sort_goes_by_is_in_no_plan() {
    let server = server();
    let token = server.application_token();
    let mut bundle = explained(&server, &token, "/fhir/Patient?_sort=family&_count=1", "true").json();
    let text = plan(&mut bundle);
    assert!(text.contains("SortExec") && !text.contains("ecretive"), "{text}");
}

#[test]
fn programs_read_the_same_as_json() {
    let server = server();
    let token = server.application_token();
    let told = |path: &str| -> Value {
        let mut bundle = explained(&server, &token, path, "json").json();
        serde_json::from_str(&plan(&mut bundle)).unwrap()
    };
    let step = |plan: &Value, name: &str| -> Value {
        let steps = plan["steps"].as_array().unwrap();
        steps
            .iter()
            .find(|step| step["step"] == name)
            .unwrap_or_else(|| panic!("no {name}: {plan}"))
            .clone()
    };
    let scanned = told("/fhir/Observation?date=ge2023&code=8867-4");
    let matched = step(&scanned, "match");
    let scan = &matched["scans"][0];
    assert_eq!(scan["files"]["all"], 2);
    let reasons = scan["rowGroups"]["why"].as_object().unwrap();
    assert_eq!(reasons.values().collect::<Vec<_>>(), [1]);
    assert!(
        reasons
            .keys()
            .all(|reason| reason.starts_with("statistics of effective")),
        "{reasons:?}"
    );
    let conditions = scan["conditions"].as_array().unwrap();
    let of_code = conditions
        .iter()
        .find(|condition| condition["condition"] == "code=8867-4")
        .unwrap();
    assert_eq!(
        (&of_code["rowsIn"], &of_code["rowsOut"], &of_code["rowGroupsEmptied"]),
        (&json!(1), &json!(0), &json!(1))
    );
    assert!(scan["bytes"].as_u64().unwrap() > 0 && scan["time"]["read"].is_number());
    let one = told("/fhir/Observation?code=8867-4&_count=1");
    assert_eq!(step(&one, "fetch")["fetched"][0]["found"], 1);

    // A person's columns are read only once.
    let path = "/fhir/Observation?subject=Patient/ben&code=1234-5";
    let columns = |plan: &Value| {
        let person = step(plan, "match")["people"][0].clone();
        (
            person["columnsRead"].as_u64().unwrap(),
            person["columnsInMemory"].as_u64().unwrap(),
        )
    };
    let (read, kept) = columns(&told(path));
    assert!(read > 0 && kept == 0);
    assert_eq!(columns(&told(path)), (0, read));
    assert_eq!(
        step(&told(path), "match")["memory"]["places of people's rows"],
        json!({"hits": 1, "misses": 0})
    );

    let joined = told("/fhir/Observation?subject:Patient.family=secretive");
    assert_eq!(step(&joined, "others")["scans"][0]["type"], "Patient");
    let counted = told("/fhir/Observation?code=1234-5&_summary=count");
    assert_eq!(step(&counted, "count")["rows"], 1);
    let system = told("/fhir?_type=Observation,Patient&_id=ben,b2");
    assert_eq!(system["searches"].as_array().unwrap().len(), 2);
    assert_eq!(step(&system, "match")["rows"], 2);
}

#[test]
fn it_is_told_to_those_who_may_ask() {
    let server = server();
    let (application, patient) = (server.application_token(), server.patient_token("anna"));
    let path = "/fhir/Observation?code=8867-4";
    for form in ["true", "json"] {
        let answer = explained(&server, &patient, path, form);
        assert_eq!((answer.status, answer.issue().as_str()), (403, "forbidden"));
    }
    let odd = explained(&server, &application, path, "maybe");
    assert_eq!((odd.status, odd.issue().as_str()), (400, "invalid"));
    for token in [&application, &patient] {
        let answer = explained(&server, token, path, "false");
        assert_eq!((answer.status, answer.header("server-timing")), (200, ""));
        assert!(!answer.text.contains("outcome"));
    }
    let silent = Server::start(&[json!({"resourceType": "Patient", "id": "anna"})]);
    let answer = explained(&silent, &silent.application_token(), "/fhir/Patient", "true");
    assert_eq!((answer.status, answer.issue().as_str()), (403, "forbidden"));
}

#[test]
fn the_command_explains_as_the_server_does() {
    let server = server();
    let explain = |more: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args([
                "explain",
                "--data",
                server.folder().to_str().unwrap(),
                "Observation?date=ge2023",
            ])
            .args(more)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let text = explain(&[]);
    assert!(text.contains("1 skipped: statistics of effective"), "{text}");
    assert!(text.contains("footers and page indexes: 0 found, 2 read"), "{text}");
    assert!(explain(&["--runs", "2"]).contains("footers and page indexes: 2 found, 0 read"));
    let json: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    assert_eq!(json["steps"][0]["step"], "resolve");
}

#[test]
fn the_command_takes_what_the_server_takes() {
    let server = server();
    let given = tempfile::tempdir().unwrap();
    let parameters = given.path().join("parameters");
    std::fs::create_dir(&parameters).unwrap();
    let parameter = json!({"resourceType": "SearchParameter", "url": "http://example.org/said", "code": "said", "base": ["Observation"],
        "type": "token", "expression": "Observation.status", "status": "active", "name": "said", "description": "said"});
    std::fs::write(parameters.join("said.json"), parameter.to_string()).unwrap();
    let terms = json!({"resourceType": "ValueSet", "url": "http://example.org/done", "status": "active",
        "compose": {"include": [{"system": "http://hl7.org/fhir/observation-status", "concept": [{"code": "final"}]}]}});
    let terminology = given.path().join("terms.json");
    std::fs::write(&terminology, terms.to_string()).unwrap();
    let run = |command: &str, query: &str| {
        let done = Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args([command, "--data", server.folder().to_str().unwrap(), query])
            .args(["--search-parameters", parameters.to_str().unwrap()])
            .args(["--terminology", terminology.to_str().unwrap()])
            .output()
            .unwrap();
        (
            done.status.code(),
            String::from_utf8(done.stdout).unwrap(),
            String::from_utf8(done.stderr).unwrap(),
        )
    };
    let total = |query: &str| {
        let (code, page, error) = run("search", query);
        assert_eq!(code, Some(0), "{query}: {error}");
        serde_json::from_str::<Value>(&page).unwrap()["total"].as_u64().unwrap()
    };
    let all = total("Observation?_summary=count");
    assert!(all > 0);
    assert_eq!(total("Observation?said=final&_summary=count"), all);
    assert_eq!(
        total("Observation?status:in=http://example.org/done&_summary=count"),
        all
    );
    assert_eq!(total("?_type=Observation&_summary=count"), all);
    let own = total("Patient/anna/Observation?_summary=count");
    assert!(own > 0 && own < all, "{own} of {all}");
    for query in [
        "Observation?said=final",
        "?_type=Observation",
        "Patient/anna/Observation",
    ] {
        let (code, text, error) = run("explain", query);
        assert_eq!(code, Some(0), "{query}: {error}");
        assert!(text.contains("Observation in snapshot"), "{text}");
    }
    for wrong in [
        "Nothing",
        "Patient/anna",
        "Observation/1/Patient",
        "Observation?code=%FF",
    ] {
        let (code, _, error) = run("search", wrong);
        assert_eq!(code, Some(2), "{wrong}: {error}");
    }
    // Links point to the address at which the folder was last served.
    server.store.settings().set_base_url("http://127.0.0.1:18082").unwrap();
    let (_, page, _) = run("search", "Observation?_count=1");
    let page: Value = serde_json::from_str(&page).unwrap();
    let url = page["link"][0]["url"].as_str().unwrap();
    assert!(url.starts_with("http://127.0.0.1:18082/fhir/Observation?"), "{url}");
}

/// Files that were not opened counted as not read, without a reason. Rows after a limit were not reported. Only the
/// first of several alternative conditions was named.
#[test]
fn whatever_is_not_read_is_accounted_for() {
    let (folder, lake) = records::lake();
    let practitioners = |file: &str| {
        let one = |at: usize| Record::new(json!({"resourceType": "Practitioner", "id": format!("{file}{at}")}));
        (0..3).map(one).collect::<Vec<_>>()
    };
    let of = |patient: &str, id: &str| Record::new(observation(id, patient, "8867-4", "2020")).of(&lake, patient);
    let mut first = practitioners("a");
    first.extend([of("anna", "a1"), of("carl", "c1")]);
    records::commit(&lake, &first);
    let mut second = practitioners("b");
    // In a small table no patient would be looked up.
    second.extend((0..600).map(|at| of("ben", &format!("b{at}"))));
    records::commit(&lake, &second);
    let server = Server::explaining(folder, lake);
    let token = server.application_token();
    let told = |path: &str| {
        let text = plan(&mut explained(&server, &token, path, "true").json());
        let mut bundle = explained(&server, &token, path, "json").json();
        let json: Value = serde_json::from_str(&plan(&mut bundle)).unwrap();
        let scans = json["steps"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|step| step["scans"].as_array().unwrap().clone());
        (text, scans.collect::<Vec<_>>())
    };
    let all = |text: &str, parts: &[&str]| {
        for part in parts {
            assert!(text.contains(part), "{part}\n{text}");
        }
    };

    // A page of one row reads two, to know whether there is a next page.
    let (text, scans) = told("/fhir/Practitioner?_count=1");
    all(
        &text,
        &[
            "files       1 of 2 read; 1 not needed: there was enough before",
            "rows        3 met, 0 pruned, 0 dropped by conditions, 2 out, 1 not needed",
        ],
    );
    assert!(!text.contains("statistics"), "nothing can be refuted: {text}");
    let expected = json!({"all": 2, "read": 1, "openedInVain": 0, "skipped": 0, "notNeeded": 1});
    assert_eq!(
        (&scans[0]["files"], &scans[0]["rows"]["notNeeded"]),
        (&expected, &json!(1))
    );

    let (text, scans) = told("/fhir/Observation?patient=anna,carl&code=8867-4");
    all(
        &text,
        &[
            "a scan of the rows of 2 owners",
            "files       1 of 2 read; 1 skipped: of others, or not of the page",
        ],
    );
    let expected = json!({"all": 2, "read": 1, "openedInVain": 0, "skipped": 1, "notNeeded": 0});
    assert_eq!(scans[0]["files"], expected);

    let (text, _) = told("/fhir/Patient/anna/Observation?_summary=count");
    all(
        &text,
        &[
            "Observation: scanned for their number",
            "subject=Patient/anna or performer=Patient/anna: 602 in, 1 out",
        ],
    );

    // Each row group was read, or a condition ruled it out.
    for path in [
        "/fhir/Observation?date=ge2023",
        "/fhir/Observation?code=8867-4&_sort=-date&_count=1",
        "/fhir/Practitioner?_id=a1,b2",
    ] {
        for scan in told(path).1 {
            let number = |value: &Value| value.as_u64().unwrap();
            let (files, groups, rows) = (&scan["files"], &scan["rowGroups"], &scan["rows"]);
            let sum = |of: &Value, names: &[&str]| names.iter().map(|name| number(&of[*name])).sum::<u64>();
            assert_eq!(
                number(&files["all"]),
                sum(files, &["read", "openedInVain", "skipped", "notNeeded"]),
                "{scan}"
            );
            let why: u64 = groups["why"].as_object().unwrap().values().map(number).sum();
            assert_eq!(
                (number(&groups["met"]), why),
                (sum(groups, &["read", "skipped"]), number(&groups["skipped"])),
                "{scan}"
            );
            assert_eq!(
                number(&rows["met"]),
                sum(rows, &["pruned", "dropped", "notNeeded", "out"]),
                "{scan}"
            );
            let leaves: u64 = scan["bytesByLeaf"].as_object().unwrap().values().map(number).sum();
            assert_eq!(number(&scan["bytes"]), leaves, "{scan}");
        }
    }
}

/// A compartment search used to visit all row groups of the lake, so its cost grew with other people's records.
#[test]
fn a_compartment_is_looked_for_where_the_patients_own_rows_lie() {
    let seen = |patient: &str, performer: &str| {
        let mut json = observation(&format!("seen-{patient}"), patient, "8867-4", "2020");
        json["performer"] = json!([{"reference": performer}, {"reference": "Organization/clinic"}]);
        json
    };
    // Each person's records are a file of their own.
    let others = ["ben", "cid", "dora", "eve", "finn", "gus"];
    let server = |others: &[&str], performer: &str| {
        let (folder, lake) = records::lake();
        for patient in ["anna"].iter().chain(others) {
            let performer = if *patient == "ben" {
                performer
            } else {
                "Practitioner/doc"
            };
            let rows = [
                json!({"resourceType": "Patient", "id": patient}),
                seen(patient, performer),
            ];
            records::commit(&lake, &rows.map(|json| Record::new(json).of(&lake, patient)));
        }
        Server::explaining(folder, lake)
    };
    let told = |server: &Server, query: &str| {
        let path = format!("/fhir/Patient/anna/Observation{query}");
        let mut bundle = explained(server, &server.application_token(), &path, "json").json();
        let plan: Value = serde_json::from_str(&plan(&mut bundle)).unwrap();
        let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
        let ids = entries
            .iter()
            .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned());
        let mut ids: Vec<String> = ids.collect();
        ids.sort();
        let steps = plan["steps"].as_array().unwrap();
        let matched = steps.iter().find(|step| step["step"] == "match").unwrap();
        (ids, matched["scans"][0]["bytesByLeaf"].clone())
    };
    let (ids, alone) = told(&server(&[], ""), "");
    assert_eq!(ids, ["seen-anna"]);
    assert!(alone["subject.reference__id"].as_u64().unwrap() > 0);
    let (ids, among) = told(&server(&others, "Practitioner/doc"), "");
    assert_eq!(ids, ["seen-anna"]);
    assert_eq!(among["subject.reference__id"], alone["subject.reference__id"]);
    // The dictionaries of reference types show that no Patient performs anything.
    assert!(among["performer.reference__type"].as_u64().unwrap() > 0);
    assert!(among["performer.reference__id"].is_null(), "{among}");
    // Her observations of another person are in her compartment too.
    let by_anna = server(&others, "Patient/anna");
    assert_eq!(told(&by_anna, "").0, ["seen-anna", "seen-ben"]);
    assert_eq!(told(&by_anna, "?subject=Patient/ben,Patient/cid").0, ["seen-ben"]);
    assert_eq!(told(&by_anna, "?performer=Patient/ben").0, [""; 0]);
}

/// The rows of a view as JSON say how they came about, after the last row.
#[test]
fn rows_of_a_view_say_how_they_came_about() {
    let server = server();
    let (application, patient) = (server.application_token(), server.patient_token("anna"));
    let view = json!({"resourceType": "ViewDefinition", "resource": "Observation", "status": "active", "name": "newest",
        "where": [{"path": "effective.ofType(dateTime) >= @2023-01-01"}],
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    let run = |token: &str, query: &str, form: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/fhir+json"),
            ("x-explain", form),
        ];
        let path = format!("/fhir/ViewDefinition/$run{query}");
        server.send("POST", &path, &headers, &view.to_string())
    };
    let plain = run(&application, "", "false").json();
    assert_eq!(
        (&plain["rows"], &plain["explanation"]),
        (&json!([{"id": "b2"}]), &Value::Null)
    );
    let told = run(&application, "", "true").json();
    assert_eq!(told["rows"], plain["rows"]);
    let text = told["explanation"].as_str().unwrap();
    for part in [
        "ViewExec: columns=[id]",
        "output_rows=1",
        "Observation: scanned for id",
        "row groups  1 of 2 met are read; 1 skipped: statistics of effectiveDateTime__end",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let json = run(&application, "", "json").json();
    let json: Value = serde_json::from_str(json["explanation"].as_str().unwrap()).unwrap();
    assert_eq!(json["scans"][0]["rowGroups"]["skipped"], 1);
    assert!(json["plan"].as_str().unwrap().contains("LakeScanExec"));
    let csv = run(&application, "?_format=csv", "true");
    assert_eq!((csv.status, csv.issue().as_str()), (400, "invalid"));
    let foreign = run(&patient, "", "true");
    assert_eq!((foreign.status, foreign.issue().as_str()), (403, "forbidden"));
}
