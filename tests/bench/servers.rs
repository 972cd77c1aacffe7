//! How `tabularium bench` handles servers that fail or disappear, and the server that it starts itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{LAKE, PROGRAM, bench, lake_of, said, text};

/// A server that answers all requests with this status and text, and records the requests. It runs until the process
/// ends.
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

/// The child processes of a process.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The parent's id is the second field after the name in parentheses.
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
    store.settings().set_base_url("http://records.example.org").unwrap();
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
    // The report keeps the results and names the failures.
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
    assert_eq!(
        store.settings().base_url().unwrap().as_deref(),
        Some("http://records.example.org")
    );
}

#[test]
fn a_bench_stores_no_base_url() {
    use tabularium::consent::{Clock, Store};
    let lake = lake_of(1);
    let arguments = ["--mix", "read", "--seconds", "0.01", "--warm-up", "0", "--clients", "1"];
    let output = bench(lake.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let store = Store::open(lake.path(), Clock::System).unwrap();
    assert_eq!(store.settings().base_url().unwrap(), None);
}

/// A server that answers reads of any type, and closes each connection after this many requests.
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

/// After a server had crashed, every family ran to its end, which took minutes.
#[test]
fn a_server_that_is_gone_is_not_asked_on() {
    // The server answers the statement and one read, and then stops.
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
