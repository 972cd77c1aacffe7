//! `tabularium bench`: what it measures in a small generated lake, and what it refuses.

mod servers;
mod soak;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};
use tabularium::ingest;
use tabularium::lake::Lake;
use tabularium::sandbox::{Population, write_ndjson};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// A lake of four people. Tests only read it.
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

/// Runs `bench` over a lake with these arguments and an empty environment.
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

/// One full bench for all tests that read its results: the folder with `report.json` and `report.html`, and the table.
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
    // Makes the old results so slow that every new one is faster.
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
    // Such a link used to be removed, and an empty file was left behind it.
    let (link, behind) = (folder.path().join("link"), folder.path().join("behind"));
    std::os::unix::fs::symlink(&behind, &link).unwrap();
    let lake = LAKE.path();
    for (lake, arguments, word) in [
        (&*none, vec![], "no lake"),
        (lake, vec!["--out", text(&link)], "there is no file behind it"),
        (lake, vec!["--html", text(&link)], "there is no file behind it"),
        (&*empty, vec!["--seconds", "0"], "nothing to ask"),
        (lake, vec!["--mix", "nonsense"], "nonsense"),
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
    assert!(link.is_symlink() && !behind.exists());
}

/// FHIR routes accept application tokens only in live mode. Over test records each such request was a 403.
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
