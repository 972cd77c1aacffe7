//! The commands a newcomer begins with, as processes: `demo`, `serve` and `token`, what they print and how they end.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// A running command, killed when dropped.
struct Process {
    child: Child,
    /// What it printed until it served.
    printed: Vec<String>,
}

impl Process {
    /// Starts a command and reads what it prints up to the line that names its address.
    fn start(arguments: &[&str]) -> Process {
        let child = Command::new(PROGRAM)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let printed = Vec::new();
        let mut process = Process { child, printed };
        let lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        for line in lines {
            process.printed.push(line.unwrap());
            if process.printed.last().is_some_and(|line| line.starts_with("Serving")) {
                return process;
            }
        }
        panic!("it ended before it served: {:?}", process.printed);
    }

    /// `http://127.0.0.1:port`.
    fn base_url(&self) -> String {
        let last = self.printed.last().unwrap();
        let url = last
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap();
        url.strip_suffix("/fhir").unwrap().to_owned()
    }

    /// Asks it to end as an operator would; gives the exit code.
    fn terminate(mut self) -> Option<i32> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(asked.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    let lines: Vec<&String> = demo.printed.iter().filter(|line| line.starts_with("curl ")).collect();
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
