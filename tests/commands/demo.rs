//! The first commands of a new user, as processes: `demo`, `serve` and `token`, their output and their ends.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::{PROGRAM, Process};
use crate::harness::surfer::Surfer;

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// Runs a printed line in a shell, as a user would paste it.
fn pasted(token: &str, line: &str) -> String {
    let script = format!("{token}\n{line}");
    let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The printed lines: the one that makes a token, the requests, and the view.
fn lines_to_paste(demo: &Process) -> (String, Vec<String>, String) {
    let printed = || demo.printed.iter().map(|line| line.trim().to_owned());
    let token = printed().find(|line| line.starts_with("export TOKEN=$(")).unwrap();
    let curls = printed().filter(|line| line.starts_with("curl -sS ")).collect();
    let view = printed().find(|line| line.contains(" run Patient --data ")).unwrap();
    (token, curls, view)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A demo with this many people, on free ports.
fn demo_of(data: &Path, patients: &str) -> Process {
    let free = "127.0.0.1:0";
    Process::start(&[
        "demo",
        "--data",
        text(data),
        "--listen",
        free,
        "--sandbox-listen",
        free,
        "--patients",
        patients,
    ])
}

/// A folder `population` in the data folder used to be removed, whatever it held.
#[test]
fn a_demo_removes_no_files_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let theirs = data.join("population/notes.txt");
    std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    std::fs::write(&theirs, "theirs").unwrap();
    let free = "127.0.0.1:0";
    let arguments = [
        "demo",
        "--data",
        text(&data),
        "--listen",
        free,
        "--sandbox-listen",
        free,
    ];
    let refused = run(&arguments);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("(notes.txt)"), "{said}");
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "theirs");
}

#[test]
fn the_demos_curl_lines_answer_and_a_second_run_starts_from_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let arguments = ["demo", "--data", "demo", "--listen", "127.0.0.1:0", "--patients", "3"];
    // The lines are pasted in another folder than the one in which the demo was started.
    let start = || Process::limited(&format!("cd '{}'", folder.path().display()), &arguments);
    let demo = start();
    assert!(demo.printed.len() <= 16, "about a dozen lines: {:#?}", demo.printed);
    assert!(
        demo.printed.iter().all(|line| line.len() < 400),
        "no token in full: {:#?}",
        demo.printed
    );
    let (token, curls, view) = lines_to_paste(&demo);
    let [read, search, summary] = &curls[..] else {
        panic!("three curl lines: {:?}", demo.printed)
    };
    let json = |line: &str| -> Value { serde_json::from_str(&pasted(&token, line)).unwrap() };
    let patient = json(read);
    assert_eq!(patient["resourceType"], "Patient");
    let bundle = json(search);
    let subject = &bundle["entry"][0]["resource"]["subject"]["reference"];
    assert_eq!(
        subject.as_str().unwrap(),
        format!("Patient/{}", patient["id"].as_str().unwrap())
    );
    assert_eq!(json(summary)["type"], "document");
    let rows = pasted(&token, &view);
    assert!(
        rows.starts_with("id,born,city\n") && rows.lines().count() == 4,
        "{rows}"
    );
    let docs = demo
        .printed
        .iter()
        .find_map(|line| line.split_whitespace().find(|word| word.ends_with("/docs")));
    assert_eq!(ureq::get(docs.unwrap()).call().unwrap().status(), 200);

    assert_eq!(demo.terminate(), Some(0));
    std::fs::remove_dir_all(data.join("population")).unwrap();
    let again = start();
    assert!(!data.join("population").exists(), "nothing is made up a second time");
    let (token, curls, _) = lines_to_paste(&again);
    assert!(pasted(&token, &curls[0]).contains("\"Patient\""));
    assert_eq!(again.terminate(), Some(0));
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, none) = (folder.path().join("lake"), folder.path().join("none"));
    tabularium::lake::Lake::open_or_create(&lake).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, word) in [
        (vec!["serve", "--data", text(&none)], "no lake"),
        (
            vec!["serve", "--data", text(&lake), "--listen", &taken],
            "cannot listen",
        ),
        (
            vec!["serve", "--data", text(&lake), "--listen", "nowhere"],
            "cannot listen",
        ),
        (
            vec![
                "serve",
                "--data",
                text(&lake),
                "--listen",
                "127.0.0.1:0",
                "--base-url",
                "records",
            ],
            "no base address",
        ),
        (
            vec!["serve", "--data", text(&lake), "--search-parameters", text(&none)],
            "none",
        ),
        (vec!["demo", "--data", text(&none), "--listen", &taken], "cannot listen"),
        (
            vec![
                "demo",
                "--data",
                text(&none),
                "--listen",
                "127.0.0.1:0",
                "--sandbox-listen",
                &taken,
            ],
            "cannot listen",
        ),
        (vec!["sandbox", "--listen", &taken], "cannot listen"),
        (
            vec!["sandbox", "--listen", "127.0.0.1:0", "--knob", "nobody.slow=1"],
            "no organization",
        ),
        (
            vec!["sandbox", "--listen", "127.0.0.1:0", "--knob", "lakeshore.fast=1"],
            "fast",
        ),
        (
            vec!["sandbox", "--listen", "127.0.0.1:0", "--redirect-uri", "nowhere"],
            "no URI",
        ),
        (
            vec![
                "sandbox",
                "--listen",
                "127.0.0.1:0",
                "--app-service",
                "nowhere",
                "--app-key",
                "k",
                "--app-secret",
                "s",
            ],
            "no base address",
        ),
        (vec!["token", "--data", text(&none)], "no lake"),
        (
            vec!["token", "--data", text(&lake), "--patient", "nobody"],
            "no Patient",
        ),
        (
            vec!["token", "--data", text(&lake), "--application", "nobody"],
            "no application",
        ),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
        assert!(error.contains(word), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    assert!(!none.exists(), "a command that fails leaves nothing behind");
}

#[test]
fn the_sandbox_serves_until_it_is_told_to_stop() {
    let sandbox = Process::start(&["sandbox", "--listen", "127.0.0.1:0", "--knob", "lakeshore.page=7"]);
    let base = sandbox
        .printed
        .last()
        .unwrap()
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let base = base.unwrap().to_owned();
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let get = |path: &str| -> Value {
        let mut answer = agent.get(format!("{base}{path}")).call().unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    };
    assert_eq!(get("/admin/lakeshore/knobs")["page"], 7);
    let first = get("/admin/logins?count=1");
    let user = first["logins"][0]["user"].as_str().unwrap();
    assert!(
        sandbox.printed[0].contains(&format!("Log in as {user} ")),
        "{:?}",
        sandbox.printed
    );
    let configuration = get("/lakeshore/fhir/.well-known/smart-configuration");
    assert_eq!(configuration["token_endpoint"], format!("{base}/lakeshore/token"));
    assert_eq!(sandbox.terminate(), Some(0));
}

#[test]
fn the_demo_lists_the_sandboxs_organizations_and_offers_the_sample_application() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let get = |url: &str| {
        let mut answer = agent.get(url).call().unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    };
    // A second run lists the endpoints once, with their new addresses.
    for _ in 0..2 {
        let demo = demo_of(&data, "3");
        let (status, endpoints) = get(&format!("{}/endpoints", demo.base_url()));
        let endpoints: Value = serde_json::from_str(&endpoints).unwrap();
        let endpoints: Vec<&Value> = endpoints
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["mode"] == "TEST")
            .collect();
        assert_eq!((status, endpoints.len()), (200, 8));
        let portal = endpoints.iter().find(|one| one["type"] == "CREDENTIALS").unwrap();
        assert_eq!(
            (&portal["name"], &portal["refreshable"]),
            (&"Fernwood Family Practice".into(), &false.into())
        );
        let lakeshore = endpoints
            .iter()
            .find(|one| one["name"] == "Lakeshore Health Plan")
            .unwrap();
        assert_eq!(lakeshore["refreshable"], true);
        assert_eq!(lakeshore["organization"]["name"], "Lakeshore Health Plan");
        let (status, page) = get(application(&demo));
        assert_eq!(status, 200);
        assert!(page.contains(&demo.base_url()), "{page}");
        // The service shows a logo of each organization and of the application, and links to the application's policy.
        let logos = [
            "application/sample",
            "organization/sandbox-lakeshore",
            "organization/sandbox-oldmill",
        ];
        for logo in logos {
            let (status, picture) = get(&format!("{}/connect/logo/{logo}", demo.base_url()));
            assert!(status == 200 && picture.starts_with("<svg "), "{logo}: {picture}");
        }
        let mut surfer = at_the_application(&demo);
        surfer.press("/app/connect", "Connect", &[]);
        for path in ["privacy", "terms"] {
            let address = format!("{}/{path}", application(&demo));
            assert!(surfer.text.contains(&format!(r#"href="{address}""#)), "{}", surfer.text);
            assert_eq!(get(&address).0, 200, "{address}");
        }
        assert_eq!(demo.terminate(), Some(0));
    }
}

/// The organization and the login that the demo's text names.
fn suggested(demo: &Process) -> (&str, &str) {
    let words = demo.printed.iter().find_map(|line| line.trim().strip_prefix("Choose "));
    let (organization, rest) = words.unwrap().split_once(", and log in as ").unwrap();
    (organization, rest.split_whitespace().next().unwrap())
}

/// The sample application's address.
fn application(demo: &Process) -> &str {
    let line = demo.printed.iter().find(|line| line.ends_with("/app")).unwrap();
    line.split_whitespace().last().unwrap()
}

/// The sample application's page in a new browser.
fn at_the_application(demo: &Process) -> Surfer {
    Surfer::open(application(demo))
}

/// The number of matches on the page.
fn matches(surfer: &Surfer) -> u64 {
    let said = surfer.element("stage");
    let number = said.trim_end_matches('.').rsplit(' ').next().unwrap();
    number.parse().unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A login of the sandbox, by the person's number.
fn login(demo: &Process, number: u64) -> String {
    let mut logins = at_the_application(demo);
    logins.go(&format!("/admin/logins?count=1&from={number}"));
    let logins: Value = serde_json::from_str(&logins.text).unwrap();
    logins["logins"][0]["user"].as_str().unwrap().to_owned()
}

/// Waits until the records of the connection are there.
fn fetched(surfer: &mut Surfer) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while surfer.attribute("data-stage") == "fetching" {
        assert!(Instant::now() < deadline, "the records did not come: {}", surfer.text);
        surfer.reload();
    }
}

#[test]
fn the_documented_path_leads_to_charts_and_to_medicines_of_now() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_of(&folder.path().join("demo"), "3");
    let (organization, user) = suggested(&demo);
    let page = include_str!("../../docs/first-contact.md");
    for words in [
        format!("| Where are your records? | **{organization}** |"),
        format!("| Sign in | type `{user}` and `sandbox`, then **Sign in** |"),
    ] {
        assert!(page.contains(&words), "docs/first-contact.md has no {words}");
    }
    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[]);
    surfer.press("/connect/choose", organization, &[]);
    surfer.press("/connect/share", "", &[]);
    surfer.press("/login", "Sign in", &[("user", user), ("password", "sandbox")]);
    surfer.press("/consent", "Share", &[]);
    assert_eq!(surfer.url.path(), "/app/records", "{}", surfer.text);
    // The header has a person's name as soon as there are records, and never the application's id of the user.
    assert!(!surfer.text.contains("sample-user-"), "{}", surfer.text);
    fetched(&mut surfer);
    let tile = |text: &str, name: &str| -> u64 {
        let (before, _) = text.split_once(&format!("</strong> <span>{name}</span>")).unwrap();
        before.rsplit_once("<strong>").unwrap().1.parse().unwrap()
    };
    assert!(tile(&surfer.text, "Medicines now") > 0, "{}", surfer.text);
    assert!(tile(&surfer.text, "Lab values") > 0, "{}", surfer.text);
    assert!(
        surfer.text.contains(r#"<span class="who">Emma Nakamura</span>"#),
        "{}",
        surfer.text
    );
    surfer.go("/app/medicines");
    assert!(surfer.text.contains(r#"<li class="current">"#), "{}", surfer.text);
    assert!(surfer.text.contains("those that you take now first"), "{}", surfer.text);
    surfer.go("/app/results");
    let charts = surfer.text.matches(r#"<svg class="chart""#).count();
    assert!(charts > 3, "{charts} charts: {}", surfer.text);
    assert_eq!(surfer.text.matches("<figcaption>").count(), charts);
    assert!(surfer.text.contains("<h2>Glucose</h2>"), "{}", surfer.text);
    assert!(
        surfer.text.contains(r#"<span class="who">Emma Nakamura</span>"#),
        "{}",
        surfer.text
    );
    assert_eq!(demo.terminate(), Some(0));
}

#[test]
fn in_the_demo_a_person_connects_records_and_the_application_reads_renews_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let demo = demo_of(&data, "3");
    let user = login(&demo, 0);
    let user = user.as_str();

    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[]);
    for shown in [
        "It shows you your records in one place.",
        "Health plan · Chicago, Illinois",
    ] {
        assert!(surfer.text.contains(shown), "{shown}: {}", surfer.text);
    }
    surfer.press("/connect/choose", "Lakeshore Health Plan", &[]);
    surfer.press("/connect/share", "", &[]);
    surfer.press("/lakeshore/login", "Sign in", &[("user", user), ("password", "wrong")]);
    assert!(
        surfer.text.contains("The user name or the password is wrong"),
        "{}",
        surfer.text
    );
    surfer.press(
        "/lakeshore/login",
        "Sign in",
        &[("user", user), ("password", "sandbox")],
    );
    surfer.press("/lakeshore/consent", "Share", &[]);
    assert!(surfer.url.path() == "/app/records", "{} {}", surfer.url, surfer.text);
    fetched(&mut surfer);
    assert_eq!(surfer.attribute("data-stage"), "there", "{}", surfer.text);
    surfer.go("/app/developer");
    assert!(
        matches(&surfer) > 0 && surfer.text.contains("ExplanationOfBenefit"),
        "{}",
        surfer.text
    );
    let tokens: Value = serde_json::from_str(&surfer.element("tokens")).unwrap();
    assert!(
        tokens["refresh_token"].is_string() && tokens["patient"].is_string(),
        "{tokens}"
    );

    surfer.press("/app/refresh", "Refresh", &[]);
    assert_eq!(surfer.element("last-status"), "200", "{}", surfer.text);
    let renewed: Value = serde_json::from_str(&surfer.element("tokens")).unwrap();
    assert_ne!(renewed["access_token"], tokens["access_token"]);
    surfer.press("/app/introspect", "Introspect", &[]);
    let told: Value = serde_json::from_str(&surfer.element("last-answer")).unwrap();
    assert_eq!(
        (&told["active"], &told["endpoint"]["name"]),
        (&true.into(), &"Lakeshore Health Plan".into())
    );
    assert_eq!(told["sync"]["resourceTypes"]["Patient"], 1, "{told}");
    surfer.go("/app/records?query=Coverage");
    assert_eq!(surfer.url.path(), "/app/developer");
    assert_eq!(
        (surfer.attribute("data-stage"), surfer.element("status")),
        ("there".into(), "200".into())
    );

    // Generated resources are marked, and those of the source are not.
    surfer.go("/app/overview");
    assert_eq!(surfer.attribute("data-stage"), "there", "{}", surfer.text);
    for section in [
        "Prescriptions",
        "Visits",
        "Plans",
        "Made from claims",
        "See the claim",
        "Diagnosis",
    ] {
        assert!(surfer.text.contains(section), "{section}: {}", surfer.text);
    }
    assert!(
        surfer.text.contains(r#"data-made="MedicationRequest""#),
        "{}",
        surfer.text
    );
    assert!(surfer.text.contains(r#"<li data-name="Coverage/"#), "{}", surfer.text);

    // Claims do not name the prescriber. The service's placeholder for such an element is not shown.
    for page in ["medicines", "overview", "visits", "records"] {
        surfer.go(&format!("/app/{page}"));
        assert!(!surfer.text.contains("Undefined by source"), "{page}: {}", surfer.text);
    }

    // The whole record: all resources as one Bundle with the source's digits, and the summary.
    surfer.go("/app/record/everything");
    let record: Value = serde_json::from_str(&surfer.text).unwrap();
    let entries = record["entry"].as_array().unwrap();
    let patients = entries
        .iter()
        .filter(|entry| entry["resource"]["resourceType"] == "Patient");
    assert_eq!((record["type"].as_str(), patients.count()), (Some("collection"), 1));
    assert!(
        surfer.text.contains(r#""resourceType":"ExplanationOfBenefit""#),
        "{record}"
    );
    surfer.go("/app/record/summary");
    assert_eq!(surfer.attribute("data-stage"), "there", "{}", surfer.text);
    assert!(
        surfer.text.contains("Medication Summary") && surfer.text.contains("<td>"),
        "{}",
        surfer.text
    );

    surfer.go("/app/developer");
    surfer.press("/app/revoke", "Revoke", &[]);
    let ended: Value = serde_json::from_str(&surfer.element("last-answer")).unwrap();
    assert_eq!(ended["count"], 1, "{ended}");
    assert_eq!(
        (surfer.attribute("data-stage"), surfer.element("status")),
        ("ended".into(), "401".into())
    );
    for way in [
        "records",
        "medicines",
        "visits",
        "results",
        "overview",
        "record/summary",
        "record/pdf",
        "record/everything",
    ] {
        surfer.go(&format!("/app/{way}"));
        assert_eq!(surfer.attribute("data-stage"), "ended", "{way}: {}", surfer.text);
    }
    assert_eq!(demo.terminate(), Some(0));
    let told = String::from_utf8(run(&["info", "--data", text(&data)]).stdout).unwrap();
    let left = told.lines().filter(|line| line.starts_with("test."));
    for line in left {
        assert_eq!(line.split_whitespace().nth(1), Some("0"), "{line}");
    }
}

#[test]
fn in_the_demo_whoever_cancels_comes_back_without_records() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let demo = demo_of(&data, "1");
    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[]);
    surfer.press("/connect/cancel", "", &[]);
    assert_eq!(surfer.element("error"), "access_denied");
    assert_eq!(surfer.element("description"), "User cancelled the consent flow");
    assert_eq!(demo.terminate(), Some(0));
}

#[test]
fn in_the_demo_a_verified_person_reads_what_facilities_hold() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let demo = demo_of(&data, "3");
    let user = login(&demo, 2);
    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[("way", "ial2")]);
    surfer.press("/connect/identity", "Truename", &[]);
    surfer.press(
        "/identity/login",
        "Sign in",
        &[("user", &user), ("password", "sandbox")],
    );
    surfer.press("/identity/consent", "Yes", &[]);
    for place in ["Northfield Hospital", "Eastgate Clinic", "Old Mill Family Practice"] {
        assert!(surfer.text.contains(place), "{place}: {}", surfer.text);
    }
    surfer.press("/connect/facilities", "", &[]);
    surfer.press("/connect/finish", "", &[]);
    assert_eq!(surfer.url.path(), "/app/records", "{}", surfer.text);
    fetched(&mut surfer);
    surfer.go("/app/records?query=Patient?_total=accurate");
    assert_eq!(matches(&surfer), 3, "{}", surfer.text);
    surfer.go("/app/records?query=Encounter?patient=$PATIENT_ID%26_total=accurate");
    assert!(matches(&surfer) > 3, "{}", surfer.text);
    surfer.press("/app/revoke", "Revoke", &[]);
    let ended: Value = serde_json::from_str(&surfer.element("last-answer")).unwrap();
    assert_eq!(ended["count"], 3, "{ended}");
    assert_eq!(demo.terminate(), Some(0));
}

/// Adds a record of a person at Riverbend.
fn put(demo: &Process, user: &str, resource: &Value) {
    let surfer = at_the_application(demo);
    let body = serde_json::json!({"user": user, "resource": resource}).to_string();
    let url = surfer.url.join("/admin/riverbend/records").unwrap();
    let answer = ureq::post(url.as_str())
        .header("content-type", "application/json")
        .send(body)
        .unwrap();
    assert_eq!(answer.status(), 201);
}

#[test]
fn the_sample_application_shows_records_as_people_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let demo = demo_of(&folder.path().join("demo"), "3");
    let user = login(&demo, 1);
    let mut logins = at_the_application(&demo);
    logins.go("/admin/logins?count=1&from=1");
    let known: Value = serde_json::from_str(&logins.text).unwrap();
    let subject =
        serde_json::json!({"reference": format!("Patient/{}", known["logins"][0]["patient"].as_str().unwrap())});
    let hostile = "<script>alert(1)</script><img src=x>";
    put(
        &demo,
        &user,
        &serde_json::json!({"resourceType": "Encounter", "id": "hostile", "status": "finished", "class": {"code": "AMB"},
            "type": [{"text": format!("{hostile}{}", "y".repeat(5_000))}], "subject": subject,
            "period": {"start": "2026-11-01T10:00:00Z"}}),
    );
    put(
        &demo,
        &user,
        &serde_json::json!({"resourceType": "MedicationRequest", "id": "hostile", "status": "active", "intent": "order",
            "subject": subject, "authoredOn": "2026-11-02", "medicationCodeableConcept": {"text": "Remedy <b>"},
            "dosageInstruction": [{"text": format!("\"{hostile}")}]}),
    );
    for day in 1..=14 {
        let value = serde_json::json!({"value": 80 + day, "unit": "<i>/L", "system": "http://unitsofmeasure.org"});
        put(
            &demo,
            &user,
            &serde_json::json!({"resourceType": "Observation", "id": format!("hostile-{day}"), "status": "final",
                "category": [{"coding": [{"code": "laboratory", "system": "http://terminology.hl7.org/CodeSystem/observation-category"}]}],
                "code": {"text": "Humour <u>"}, "subject": subject, "effectiveDateTime": format!("2026-10-{day:02}"),
                "valueQuantity": value, "referenceRange": [{"high": {"value": 90}}]}),
        );
    }
    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[]);
    surfer.press("/connect/choose", "Riverbend Medical Center", &[]);
    surfer.press("/connect/share", "", &[]);
    surfer.press(
        "/riverbend/login",
        "Sign in",
        &[("user", &user), ("password", "sandbox")],
    );
    surfer.press("/riverbend/consent", "Share", &[]);
    fetched(&mut surfer);

    // The timeline: newest first, page by page, with an end.
    assert!(
        surfer.text.contains("November 2026") && surfer.text.contains("2 November 2026"),
        "{}",
        surfer.text
    );
    let (medicine, visit) = (
        surfer.text.find("Remedy").unwrap(),
        surfer.text.find("&#60;script&#62;").unwrap(),
    );
    assert!(medicine < visit, "{}", surfer.text);
    let mut pages = 0;
    let mut months = Vec::new();
    loop {
        pages += 1;
        assert!(
            surfer.text.len() < 40_000,
            "page {pages} has {} bytes",
            surfer.text.len()
        );
        let events = surfer.text.matches("<li class=\"event ").count();
        assert!((1..=18).contains(&events), "{events} on page {pages}");
        let titles = surfer.text.split("<section class=\"month\"><h2>").skip(1);
        months.extend(titles.map(|rest| rest.split('<').next().unwrap().to_owned()));
        assert!(
            !surfer.text.contains("<script") && !surfer.text.contains("<img"),
            "{}",
            surfer.text
        );
        let next = surfer
            .text
            .split("rel=\"next\" href=\"")
            .nth(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned());
        let Some(next) = next else { break };
        surfer.go(&next.replace("&#38;", "&"));
    }
    assert!(pages > 1 && months.len() > pages, "{pages} pages of {months:?}");

    surfer.go("/app/medicines");
    assert!(surfer.text.contains("Remedy &#60;b&#62;") && surfer.text.contains("Prescribed since 2 November 2026"));
    assert!(surfer.text.contains("&#34;&#60;script&#62;alert(1)"), "{}", surfer.text);

    surfer.go("/app/visits");
    assert!(
        surfer.text.contains("yyy…") && !surfer.text.contains(&"y".repeat(200)),
        "{}",
        surfer.text
    );
    assert!(surfer.text.matches("<li data-name=\"Encounter/").count() <= 10);

    // A value with its unit, its flag, and a chart of numbers only.
    surfer.go("/app/results");
    let card = surfer
        .text
        .split("<h2>Humour &#60;u&#62;</h2>")
        .nth(1)
        .unwrap_or_else(|| panic!("{}", surfer.text));
    let card = card.split("</li>").next().unwrap();
    assert!(
        card.contains("<strong>94 &#60;i&#62;/L</strong> <span class=\"flag\">High</span>"),
        "{card}"
    );
    assert!(
        card.contains("Usual: 90 &#60;i&#62;/L or less") && card.contains("The newest 12 of 14 values"),
        "{card}"
    );
    assert_eq!(
        (card.matches("<circle").count(), card.matches("<dd>").count()),
        (12, 12),
        "{card}"
    );
    assert!(
        card.contains("12 values from 3 October 2026 to 14 October 2026, between 83 and 94"),
        "{card}"
    );
    surfer.go("/app/results?of=vitals&page=999");
    assert_eq!(surfer.attribute("data-stage"), "there");

    // The JSON is one click away, inside a disclosure.
    surfer.go("/app/developer?query=MedicationRequest?authoredon=2026-11-02");
    assert!(
        surfer.text.contains("<details id=\"json\"><summary>"),
        "{}",
        surfer.text
    );
    assert!(
        surfer
            .text
            .contains("Remedy &#60;b&#62;</a> <span class=\"note\">2 November 2026"),
        "{}",
        surfer.text
    );
    assert_eq!(demo.terminate(), Some(0));
}
