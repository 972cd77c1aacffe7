//! The commands a newcomer begins with, as processes: `demo`, `serve` and `token`, what they print and how they end.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::{PROGRAM, Process};
use crate::harness::surfer::Surfer;

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

/// What stands between `before` and the next single quote.
fn quoted<'a>(line: &'a str, before: &str) -> &'a str {
    let start = line.find(before).unwrap_or_else(|| panic!("no {before} in {line}")) + before.len();
    &line[start..start + line[start..].find('\'').unwrap()]
}

/// Sends what a printed `curl` line sends.
fn curl(line: &str) -> (u16, String) {
    let authorization = quoted(line, "-H 'Authorization: ");
    let url = &line[line.rfind("'http").unwrap() + 1..line.len() - 1];
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = match line.split_once(" -d '") {
        None => agent.get(url).header("authorization", authorization).call(),
        Some((_, body)) => {
            let body = body[..body.rfind("' 'http").unwrap()].replace(r"'\''", "'");
            agent
                .post(url)
                .header("authorization", authorization)
                .header("content-type", quoted(line, "-H 'Content-Type: "))
                .send(body)
        }
    }
    .unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A demo of so many people, on ports of its own.
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

#[test]
fn the_demos_curl_lines_answer_and_a_second_run_starts_from_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let arguments = [
        "demo",
        "--data",
        text(&data),
        "--listen",
        "127.0.0.1:0",
        "--patients",
        "3",
    ];
    let demo = Process::start(&arguments);
    let lines: Vec<&String> = demo
        .printed
        .iter()
        .filter(|line| line.starts_with("curl -sS -H"))
        .collect();
    let [read, search, view] = lines[..] else {
        panic!("three curl lines: {:?}", demo.printed)
    };

    let (status, patient) = curl(read);
    let patient: Value = serde_json::from_str(&patient).unwrap();
    assert_eq!((status, &patient["resourceType"]), (200, &Value::from("Patient")));
    let (status, bundle) = curl(search);
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    assert_eq!(status, 200);
    let subject = &bundle["entry"][0]["resource"]["subject"]["reference"];
    assert_eq!(
        subject.as_str().unwrap(),
        format!("Patient/{}", patient["id"].as_str().unwrap())
    );
    let (status, rows) = curl(view);
    assert_eq!(status, 200, "{rows}");
    assert!(
        rows.starts_with("patient,taken,what,value\n") || rows.starts_with("patient,taken,what,value\r\n"),
        "{rows}"
    );
    assert!(rows.lines().count() > 1, "{rows}");

    // A token made beside the running server is good at once.
    let token = run(&[
        "token",
        "--data",
        text(&data),
        "--patient",
        patient["id"].as_str().unwrap(),
    ]);
    let token = String::from_utf8(token.stdout).unwrap();
    let url = format!("{}/fhir/Patient/$PATIENT_ID", demo.base_url());
    assert_eq!(
        curl(&format!("curl -H 'Authorization: Bearer {}' '{url}'", token.trim())).0,
        200
    );

    assert_eq!(demo.terminate(), Some(0));
    std::fs::remove_dir_all(data.join("population")).unwrap();
    let again = Process::start(&arguments);
    assert!(!data.join("population").exists(), "nothing is made up a second time");
    assert_eq!(
        curl(again.printed.iter().find(|line| line.starts_with("curl ")).unwrap()).0,
        200
    );
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
    // A second run lists them once, at their new addresses.
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
        let app = demo.printed.iter().find(|line| line.ends_with("/app")).unwrap();
        let (status, page) = get(app);
        assert_eq!(status, 200);
        assert!(page.contains(&demo.base_url()), "{page}");
        let authorize = demo
            .printed
            .iter()
            .find(|line| line.contains("/oauth/authorize?"))
            .unwrap();
        assert!(authorize.starts_with(&demo.base_url()));
        assert_eq!(demo.terminate(), Some(0));
    }
}

/// The sample application's page in a new browser.
fn at_the_application(demo: &Process) -> Surfer {
    let app = demo.printed.iter().find(|line| line.ends_with("/app")).unwrap();
    Surfer::open(app)
}

/// How many the search on the page found.
fn matches(surfer: &Surfer) -> u64 {
    let said = surfer.element("stage");
    let number = said.trim_end_matches('.').rsplit(' ').next().unwrap();
    number.parse().unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A login of the sandbox, by the person's number.
fn login(demo: &Process, number: u64) -> String {
    let app = demo.printed.iter().find(|line| line.ends_with("/app")).unwrap();
    let mut logins = Surfer::open(app);
    logins.go(&format!("/admin/logins?count=1&from={number}"));
    let logins: Value = serde_json::from_str(&logins.text).unwrap();
    logins["logins"][0]["user"].as_str().unwrap().to_owned()
}

/// Waits for the records of the connection.
fn fetched(surfer: &mut Surfer) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while surfer.attribute("data-stage") == "fetching" {
        assert!(Instant::now() < deadline, "the records did not come: {}", surfer.text);
        surfer.reload();
    }
}

#[test]
fn in_the_demo_a_person_connects_records_and_the_application_reads_renews_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let demo = demo_of(&data, "3");
    let words = demo
        .printed
        .iter()
        .find_map(|line| line.strip_prefix("Log in as "))
        .unwrap();
    let user = words.split_whitespace().next().unwrap();

    let mut surfer = at_the_application(&demo);
    surfer.press("/app/connect", "Connect", &[]);
    surfer.press("/connect/choose", "Lakeshore Health Plan", &[]);
    surfer.press("/connect/share", "", &[]);
    surfer.press("/lakeshore/login", "Sign in", &[("user", user), ("password", "wrong")]);
    assert!(surfer.text.contains("do not go together"), "{}", surfer.text);
    surfer.press(
        "/lakeshore/login",
        "Sign in",
        &[("user", user), ("password", "sandbox")],
    );
    surfer.press("/lakeshore/consent", "Share", &[]);
    assert!(surfer.url.path() == "/app/records", "{} {}", surfer.url, surfer.text);
    fetched(&mut surfer);
    assert_eq!(surfer.attribute("data-stage"), "there", "{}", surfer.text);
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
    assert_eq!(
        (surfer.attribute("data-stage"), surfer.element("status")),
        ("there".into(), "200".into())
    );

    // What was made from claims is shown as such, and what the source gave is not.
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

    // The whole record: all resources as one Bundle with the digits of the source, and the summary.
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

    surfer.go("/app/records");
    surfer.press("/app/revoke", "Revoke", &[]);
    let ended: Value = serde_json::from_str(&surfer.element("last-answer")).unwrap();
    assert_eq!(ended["count"], 1, "{ended}");
    assert_eq!(
        (surfer.attribute("data-stage"), surfer.element("status")),
        ("ended".into(), "401".into())
    );
    for way in ["summary", "pdf", "everything"] {
        surfer.go(&format!("/app/record/{way}"));
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
