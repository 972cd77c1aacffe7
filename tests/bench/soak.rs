//! A soak runs searches, imports and erasures on a copy of the lake. The lake itself does not change.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tabularium::lake::Lake;

use super::{LAKE, PROGRAM, bench, lake_of, said, text};

/// All files of a folder, by path, with their contents. SQLite's files of readers are left out.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if !text(&path).ends_with("-shm") && !text(&path).ends_with("-wal") {
            found.push((text(&path).to_owned(), std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_soak_imports_erases_and_tells_memory_over_time_and_leaves_the_lake_alone() {
    let lake = lake_of(2);
    // A writer leaves an empty lock file.
    drop(Lake::open(lake.path()).unwrap().writer().unwrap());
    let before = contents(lake.path());
    let folder = tempfile::tempdir().unwrap();
    let (temporary, out, html) = (
        folder.path().join("tmp"),
        folder.path().join("report.json"),
        folder.path().join("report.html"),
    );
    std::fs::create_dir(&temporary).unwrap();
    let output = Command::new(PROGRAM)
        .env("TMPDIR", &temporary)
        .args(["bench", "--data", text(lake.path()), "--mix", "soak", "--seconds", "30"])
        .args(["--out", text(&out), "--html", text(&html)])
        .output()
        .unwrap();
    // An answer whose rows are erased while it is sent ends early. The report counts it.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", said(&output));
    let report: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let result = &report["results"][0];
    assert_eq!(result["family"], "soak", "{report}");
    let failed = |what: &str| {
        result["errors"]
            .as_array()
            .unwrap()
            .iter()
            .any(|error| error["status"] == what)
    };
    assert!(!failed("import") && !failed("erase"), "{report}");
    assert!(result["answers"].as_u64().unwrap() > 0, "{report}");
    let soak = &result["soak"];
    for what in ["imports", "erasures"] {
        assert!(soak[what].as_u64().unwrap() >= 1, "{what}: {soak}");
    }
    if cfg!(target_os = "linux") {
        let memory = soak["memory"].as_array().unwrap();
        assert!((2..=60).contains(&memory.len()), "{soak}");
        let seconds: Vec<f64> = memory.iter().map(|at| at["seconds"].as_f64().unwrap()).collect();
        assert!(seconds.is_sorted(), "{soak}");
        assert!(memory.iter().all(|at| at["bytes"].as_u64().unwrap() > 0), "{soak}");
        assert!(
            soak["growth"].as_f64().unwrap() > 0.0 && soak["bytes_after"].as_u64().unwrap() > 0,
            "{soak}"
        );
    }
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("soak   0:30  memory ") && told.contains(" erasures, "),
        "{told}"
    );
    let page = std::fs::read_to_string(&html).unwrap();
    assert!(page.contains("<polyline") && page.contains("memory over time"));
    // The copy is gone, and the lake is unchanged, byte for byte.
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(contents(lake.path()) == before, "the lake was changed");
}

#[test]
fn hostile_requests_go_with_a_soak_alone() {
    let output = bench(LAKE.path(), &["--mix", "read", "--hostile"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--mix soak"), "{}", said(&output));
}

#[test]
fn a_soak_asks_no_server_that_runs_nor_for_other_applications() {
    for (arguments, said_of) in [
        (["--url", "http://127.0.0.1:9/fhir"], "leave --url out"),
        (["--application", "other"], "no application is registered"),
    ] {
        let output = bench(LAKE.path(), &[&["--mix", "soak"], arguments.as_slice()].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(said_of), "{}", said(&output));
    }
}

/// A soak had no figures beside hostile requests. Honest requests are told apart from them.
#[test]
fn a_soak_tells_honest_requests_apart_from_hostile_ones() {
    let lake = lake_of(2);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report.json");
    let output = bench(
        lake.path(),
        &["--mix", "soak", "--hostile", "--seconds", "24", "--out", text(&out)],
    );
    let report: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let hostile = &report["results"][0]["soak"]["hostile"];
    assert_eq!(hostile["clients"], 12, "{report}");
    for honest in ["quiet", "beside"] {
        let figures = &hostile[honest];
        assert!(figures["answers"].as_u64().unwrap() > 0, "{honest}: {report}");
        assert!(
            figures["latency_ms"]["p99"].as_f64().unwrap() > 0.0,
            "{honest}: {report}"
        );
        if cfg!(target_os = "linux") {
            assert!(figures["memory_bytes"].as_u64().unwrap() > 0, "{honest}: {report}");
        }
    }
    // No hostile request ends the server.
    let errors = report["results"][0]["errors"].as_array().unwrap();
    assert!(errors.iter().all(|error| error["status"] != "connection"), "{report}");
    assert!(report["ended_early"].is_null(), "{report}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("quiet: p50 ") && told.contains("beside hostile requests: p50 "),
        "{told}"
    );
}
