//! `tabularium bench`: what it finds of a small generated lake, of a server that fails, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, LazyLock, Mutex};

use serde_json::{Value, json};
use tabularium::ingest;
use tabularium::lake::Lake;
use tabularium::sandbox::{Population, write_ndjson};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// A lake of four people that tests only read.
static LAKE: LazyLock<tempfile::TempDir> = LazyLock::new(|| lake_of(4));

fn lake_of(people: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let records = tempfile::tempdir().unwrap();
    write_ndjson(&Population::new(1, people), records.path(), || {}).unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    let summary = ingest::import(
        &mut lake.writer().unwrap(),
        ingest::Options::default(),
        &[records.path().to_owned()],
    );
    assert_eq!(summary.unwrap().refused, 0);
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs `bench` over a lake with these arguments and nothing from the environment.
fn bench(lake: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command
        .env_remove("TABULARIUM_TOKEN")
        .args(["bench", "--data", text(lake)]);
    command.args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A lake's whole bench, once for all tests that look at it: folder with `report.json` and `report.html`, and the table.
static BENCH: LazyLock<(tempfile::TempDir, String)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (out, html) = (folder.path().join("report.json"), folder.path().join("report.html"));
    let arguments = [
        "--seconds",
        "0.01",
        "--warm-up",
        "0",
        "--clients",
        "1,2",
        "--out",
        text(&out),
        "--html",
        text(&html),
    ];
    let output = bench(LAKE.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    (folder, String::from_utf8(output.stdout).unwrap())
});

fn report() -> Value {
    serde_json::from_slice(&std::fs::read(BENCH.0.path().join("report.json")).unwrap()).unwrap()
}

#[test]
fn every_family_of_every_mix_is_answered_without_an_error() {
    let report = report();
    let results = report["results"].as_array().unwrap();
    for outcome in results {
        let number = |name: &str| outcome[name].as_f64().unwrap();
        assert!(
            number("answers") >= 1.0 && number("per_second") > 0.0 && number("bytes") > 0.0,
            "{outcome}"
        );
        assert_eq!(
            (outcome["failed"].as_u64(), &outcome["errors"]),
            (Some(0), &json!([])),
            "{outcome}"
        );
        let latency = |name: &str| outcome["latency_ms"][name].as_f64().unwrap();
        let rising = ["p50", "p90", "p99", "p999", "max"].map(latency);
        assert!(rising[0] > 0.0 && rising.is_sorted(), "{outcome}");
        assert!(!outcome["queries"].as_array().unwrap().is_empty(), "{outcome}");
    }
    let clients = |family: &str| -> Vec<u64> {
        let of_family = results.iter().filter(|outcome| outcome["family"] == family);
        of_family.map(|outcome| outcome["clients"].as_u64().unwrap()).collect()
    };
    for family in [
        "read-hot",
        "patient-search",
        "newest-rare-code",
        "code-1000-patients",
        "has",
        "include-patient-encounter",
    ] {
        assert_eq!(clients(family), [1, 2], "{family}");
    }
    for family in ["patient-search-cold", "paging", "view-observations"] {
        assert_eq!(clients(family), [1], "{family}");
    }
    let of = |family: &str| results.iter().find(|outcome| outcome["family"] == family).unwrap();
    assert!(of("count-code")["rows_per_second"].as_f64().unwrap() > 0.0);
    let pages = &of("paging")["pages"];
    assert!(
        pages["walks"].as_u64().unwrap() >= 1 && pages["resources"].as_u64().unwrap() > 0,
        "{pages}"
    );
    assert_eq!(report["left_out"], json!([]));
}

#[test]
fn the_report_says_what_was_asked_where() {
    let report = report();
    let rows = Lake::open(LAKE.path()).unwrap().info().unwrap().rows;
    assert_eq!(report["lake"]["resources"].as_u64(), Some(rows));
    assert_eq!(report["server"]["software"], "tabularium");
    assert!(report["machine"]["cores"].as_u64().unwrap() >= 1);
    assert_eq!(
        (report["seed"].as_u64(), report["mix"].as_str()),
        (Some(1), Some("all"))
    );
    if cfg!(target_os = "linux") {
        assert!(report["server"]["peak_memory_bytes"].as_u64().unwrap() > 0);
    }
    let table = &BENCH.1;
    for word in [
        "family",
        "p99.9 ms",
        "read-hot",
        "resources/s, first page",
        "million rows/s",
        "lake: ",
        "seed 1",
    ] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let html = std::fs::read_to_string(BENCH.0.path().join("report.html")).unwrap();
    assert_eq!(html.matches("<svg").count(), html.matches("<table").count());
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("newest-rare-code"));
    assert!(!html.contains("http://") && !html.contains("https://") && !html.contains("<script"));
}

#[test]
fn a_report_is_compared_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("before.json");
    let mut before = report();
    // Nothing is a million times as fast.
    for outcome in before["results"].as_array_mut().unwrap() {
        outcome["per_second"] = json!(1e-6);
    }
    std::fs::write(&path, before.to_string()).unwrap();
    let arguments = [
        "--mix",
        "read",
        "--seconds",
        "0",
        "--warm-up",
        "0",
        "--clients",
        "1",
        "--compare",
        text(&path),
    ];
    let output = bench(LAKE.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let table = String::from_utf8(output.stdout).unwrap();
    let (_, ratios) = table.split_once("times as good").unwrap();
    for family in ["read-hot", "read-uniform"] {
        let line = ratios.lines().find(|line| line.starts_with(family)).unwrap();
        let ratio: f64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        assert!(ratio > 1e3, "{line}");
    }
    assert!(ratios.contains("only in the other report"), "{ratios}");
}

/// A server that answers every request with this status and text and notes what it was asked, until the process ends.
fn failing(status: &'static str, body: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, notes, body) = (stream.unwrap(), notes.clone(), body.clone());
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if lines.read_line(&mut head).unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    notes.lock().unwrap().push(head);
                    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, asked)
}

#[test]
fn a_server_that_fails_is_reported_with_what_it_says() {
    let outcome = json!({"resourceType": "OperationOutcome", "issue": [{"code": "exception", "details": {"text": "out of order"}}]});
    let (url, asked) = failing("500 Internal Server Error", outcome.to_string());
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "s3cret\n").unwrap();
    let mix = folder.path().join("mix.json");
    std::fs::write(
        &mix,
        r#"{"families": [{"use": "read-hot"}, {"use": "patient-search-cold"}]}"#,
    )
    .unwrap();
    let arguments = [
        "--url",
        &url,
        "--token-file",
        text(&token),
        "--mix",
        text(&mix),
        "--seconds",
        "0",
        "--clients",
        "2",
        "--json",
    ];
    let output = bench(LAKE.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("requests failed"), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &report["results"][0];
    assert_eq!(
        (result["answers"].as_u64(), result["failed"].as_u64() >= Some(2)),
        (Some(0), true),
        "{result}"
    );
    let error = &result["errors"][0];
    assert_eq!(
        (&error["status"], &error["message"]),
        (&json!("500"), &json!("out of order"))
    );
    assert_eq!(report["left_out"][0]["family"], "patient-search-cold");
    assert_eq!(report["server"]["url"], url.as_str());
    let asked = asked.lock().unwrap();
    assert!(
        asked
            .iter()
            .all(|head| head.starts_with("GET /base/") && head.contains("\r\nAuthorization: Bearer s3cret\r\n"))
    );
    assert!(!said(&output).contains("s3cret") && !String::from_utf8_lossy(&output.stdout).contains("s3cret"));
}

#[test]
fn a_server_that_takes_no_token_is_not_asked_on() {
    let outcome =
        json!({"resourceType": "OperationOutcome", "issue": [{"code": "login", "details": {"text": "who are you"}}]});
    for (status, hint) in [
        ("401 Unauthorized", "401: who are you"),
        ("404 Not Found", "404: who are you"),
    ] {
        let (url, asked) = failing(status, outcome.to_string());
        let output = bench(
            LAKE.path(),
            &["--url", &url, "--mix", "read", "--seconds", "60", "--json"],
        );
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(hint), "{}", said(&output));
        assert_eq!(asked.lock().unwrap().len(), 1);
    }
}

#[test]
fn an_answer_of_another_type_is_an_error_and_a_record_is_not_repeated() {
    let (url, _) = failing(
        "200 OK",
        json!({"resourceType": "Patient", "name": [{"family": "Park"}]}).to_string(),
    );
    let arguments = ["--url", &url, "--mix", "paging", "--seconds", "0", "--json"];
    let output = bench(LAKE.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["results"][0]["errors"][0]["status"], "other resource");
    assert!(!report.to_string().contains("Park"));
}

#[test]
fn own_queries_are_asked_by_a_mix_file() {
    let folder = tempfile::tempdir().unwrap();
    let mix = folder.path().join("mix.json");
    let families = json!({"families": [
        {"name": "mine", "clients": [3], "queries": [
            {"query": "Condition?code={code}&patient={patient}&recorded-date=le{until}", "weight": 2},
            {"query": "Encounter/_search", "post": "patient={patients}&date=ge{date}", "draw": "working-set"},
            {"query": "Patient/{id}", "token": "patient", "draw": "people"},
            {"query": "metadata"},
            {"view": "mine.view.json"},
            {"use": "has"}
        ]},
        {"name": "absent", "queries": [{"query": "Slot?schedule={id}"}]}
    ]});
    std::fs::write(&mix, families.to_string()).unwrap();
    let view = json!({"resourceType": "ViewDefinition", "resource": "Patient", "status": "active",
        "select": [{"column": [{"name": "id", "path": "id"}]}]});
    std::fs::write(folder.path().join("mine.view.json"), view.to_string()).unwrap();
    let output = bench(
        LAKE.path(),
        &["--mix", text(&mix), "--seconds", "0.3", "--json", "--seed", "7"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let result = &report["results"][0];
    assert_eq!(
        (&result["family"], result["clients"].as_u64()),
        (&json!("mine"), Some(3))
    );
    assert_eq!(result["queries"].as_array().unwrap().len(), 6);
    assert_eq!(
        report["left_out"],
        json!([{"family": "absent", "reason": "the lake has no Slot"}])
    );
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let (none, empty) = (folder.path().join("none"), folder.path().join("lake"));
    Lake::open_or_create(&empty).unwrap();
    let broken = file("broken.json", "{\"families\": [");
    let strange = file(
        "strange.json",
        r#"{"families": [{"name": "x", "queries": [{"query": "Patient?x={colour}"}]}]}"#,
    );
    let (nothing, blank) = (file("nothing.json", r#"{"families": []}"#), file("blank", " \n"));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}/fhir");
    let lake = LAKE.path();
    for (lake, arguments, word) in [
        (&*none, vec![], "no lake"),
        (&*empty, vec!["--seconds", "0"], "nothing to ask"),
        (lake, vec!["--mix", "everything"], "everything"),
        (lake, vec!["--mix", text(&broken)], "line 1"),
        (lake, vec!["--mix", text(&strange)], "{colour}"),
        (lake, vec!["--mix", text(&nothing)], "no families"),
        (lake, vec!["--compare", text(&broken)], "no report"),
        (lake, vec!["--compare", text(&none)], "cannot read"),
        (lake, vec!["--out", text(folder.path())], "cannot write"),
        (lake, vec!["--url", "fhir.example.org"], "no address"),
        (lake, vec!["--url", &closed, "--mix", "read"], "does not answer"),
        (
            lake,
            vec!["--url", &closed, "--token-file", text(&blank)],
            "no bearer token",
        ),
        (lake, vec!["--url", &closed, "--token-file", text(&none)], "cannot read"),
        (
            lake,
            vec!["--application", "nobody", "--mix", "read"],
            "nothing to ask of the live records of the application nobody",
        ),
        (
            lake,
            vec!["--mode", "test", "--mix", "population"],
            "nothing to ask of the test records of the application local",
        ),
        (lake, vec!["--out", text(&none), "--html", text(&none)], "the same file"),
    ] {
        let output = bench(lake, &arguments);
        let error = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{arguments:?}: {error}");
        assert!(error.contains(word), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_server_of_a_bench_ends_when_its_input_ends() {
    let mut server = Command::new(PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--until-stdin-ends",
            "--data",
            text(LAKE.path()),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("Serving "), "{line}");
    drop(server.stdin.take());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

/// The processes that a process has started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The parent's id is the second field behind the name, which stands in parentheses.
        let of: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        (of == parent).then_some(id)
    });
    processes.collect()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_bench_leaves_no_server_and_the_store_as_it_was() {
    use tabularium::consent::{Clock, Store};
    let lake = lake_of(1);
    let store = Store::open(lake.path(), Clock::System).unwrap();
    store.set_base_url("http://records.example.org").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report.json");
    let many: Vec<String> = (1..=200).map(|clients: u32| clients.to_string()).collect();
    let mut bench = Command::new(PROGRAM)
        .args(["bench", "--mix", "read", "--seconds", "0.1", "--warm-up", "0"])
        .args(["--clients", &many.join(","), "--data", text(lake.path())])
        .args(["--out", text(&out)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bench.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("family"));
    assert!(lines.next().unwrap().unwrap().starts_with("read-hot"));
    let [server] = children(bench.id())[..] else {
        panic!("one server")
    };
    let asked = Command::new("kill")
        .args(["-INT", &bench.id().to_string()])
        .status()
        .unwrap();
    assert!(asked.success());
    let mut said = String::new();
    bench.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(
        (bench.wait().unwrap().code(), said.as_str()),
        (Some(1), "tabularium: interrupted; the report has what was measured\n")
    );
    // What was measured is kept; what was not is named.
    let report: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(
        (&report["interrupted"], &report["results"][0]["family"]),
        (&json!(true), &json!("read-hot"))
    );
    let left_out = report["left_out"].as_array().unwrap().last().unwrap();
    assert_eq!(left_out["family"], "read-uniform");
    assert!(
        left_out["reason"].as_str().unwrap().starts_with("interrupted before "),
        "{left_out}"
    );
    assert!(!Path::new(&format!("/proc/{server}")).exists());
    assert_eq!(store.base_url().unwrap().as_deref(), Some("http://records.example.org"));
}

/// A server that answers so many requests, reads of any type well, and then closes every connection.
fn gone_after(answers: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/fhir", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut left = answers;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while left > 0 {
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).unwrap_or(0) > 0 {}
                let Some(path) = head.split(' ').nth(1) else { break };
                let body = json!({"resourceType": path.split('/').nth(2).unwrap()}).to_string();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
                left -= 1;
            }
        }
    });
    url
}

/// Of a server that had crashed every family was asked to its end, for minutes.
#[test]
fn a_server_that_is_gone_is_not_asked_on() {
    // Its statement, and a read.
    let url = gone_after(2);
    let arguments = [
        "--url",
        &url,
        "--mix",
        "read",
        "--seconds",
        "0",
        "--warm-up",
        "0",
        "--clients",
        "1",
        "--json",
    ];
    let output = bench(LAKE.path(), &arguments);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("answered no more"), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[0]["answers"]), (1, &json!(1)), "{report}");
    let left_out = &report["left_out"][0];
    assert_eq!(left_out["family"], "read-uniform");
    assert!(
        left_out["reason"]
            .as_str()
            .unwrap()
            .starts_with("the server answered no more from here on: "),
        "{left_out}"
    );
    let output = bench(
        LAKE.path(),
        &[
            "--url",
            &gone_after(1),
            "--mix",
            "read",
            "--seconds",
            "0",
            "--warm-up",
            "0",
        ],
    );
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains(" does not answer: "), "{}", said(&output));
}

/// FHIR routes take application tokens of live mode only: over test records every such request was a 403.
#[test]
fn test_records_are_asked_for_with_tokens_of_people_only() {
    let folder = tempfile::tempdir().unwrap();
    let records = tempfile::tempdir().unwrap();
    write_ndjson(&Population::new(1, 1), records.path(), || {}).unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    let options = ingest::Options {
        mode: tabularium::lake::Mode::Test,
        ..ingest::Options::default()
    };
    ingest::import(&mut lake.writer().unwrap(), options, &[records.path().to_owned()]).unwrap();
    let given = tempfile::tempdir().unwrap();
    let mix = given.path().join("mix.json");
    std::fs::write(
        &mix,
        r#"{"families": [{"use": "read-hot"}, {"use": "patient-search"}]}"#,
    )
    .unwrap();
    let arguments = [
        "--mode",
        "test",
        "--mix",
        text(&mix),
        "--seconds",
        "0",
        "--warm-up",
        "0",
        "--clients",
        "1",
        "--json",
    ];
    let output = bench(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = report["results"].as_array().unwrap();
    let families: Vec<&str> = results
        .iter()
        .map(|result| result["family"].as_str().unwrap())
        .collect();
    assert_eq!(
        families,
        ["patient-search-cold", "patient-search", "patient-newest-of-code"]
    );
    assert!(results.iter().all(|result| result["failed"] == 0), "{report}");
    assert_eq!(report["left_out"][0]["family"], "read-hot");
    let reason = report["left_out"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("application's token"), "{reason}");
}
