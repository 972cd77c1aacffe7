//! `tabularium everything`: one Bundle on standard output or in a file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::harness::command::peak;
use crate::harness::command::{imported, record, refused, refuses_what_all_refuse};

const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann","managingOrganization":{"reference":"Organization/h"}}
{"resourceType":"Patient","id":"ben"}
{"resourceType":"Observation","id":"o1","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann"},"effectiveDateTime":"2020-01-01","valueQuantity":{"value":1.50}}
{"resourceType":"Observation","id":"o2","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann"},"effectiveDateTime":"2022-01-01"}
{"resourceType":"Observation","id":"o3","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ben"}}
{"resourceType":"Organization","id":"h"}
{"resourceType":"Organization","id":"i"}
"#;

fn everything(folder: &Path, arguments: &[&str]) -> Output {
    record("everything", folder, arguments)
}

fn ids(bundle: &[u8]) -> Vec<String> {
    let bundle: Value = serde_json::from_slice(bundle).unwrap();
    assert_eq!((&bundle["type"], bundle.get("link")), (&"searchset".into(), None));
    let entries = bundle["entry"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_record_is_one_bundle() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    imported(&folder, PEOPLE);
    let done = everything(&folder, &["--patient", "ann"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(ids(&done.stdout), ["ann", "o1", "o2", "h"]);
    assert!(done.stdout.ends_with(b"}\n") && memchr::memmem::find(&done.stdout, b"1.50").is_some());
    for (options, expected) in [
        (&["--type", "Observation,Organization"][..], &["o1", "o2", "h"][..]),
        (&["--type", "Patient", "--type", "Organization"], &["ann", "h"]),
        (&["--start", "2021"], &["ann", "o2", "h"]),
        (&["--end", "2021-06", "--type", "Observation"], &["o1"]),
        (&["--since", "2100-01-01T00:00:00Z"], &[]),
    ] {
        let done = everything(&folder, &[&["--patient", "ann"], options].concat());
        assert_eq!(ids(&done.stdout), expected, "{options:?}");
    }
    let file = scratch.path().join("ann.json");
    let path = file.to_str().unwrap();
    let written = everything(&folder, &["--patient", "ann", "--out", path]);
    let told = String::from_utf8(written.stdout).unwrap();
    assert!(
        written.status.success() && told.ends_with(&format!(" to {path}\n")),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
    assert_eq!(ids(&std::fs::read(&file).unwrap()), ids(&done.stdout));
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn what_is_wrong_is_one_sentence_and_exit_code_2() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    imported(&folder, PEOPLE);
    let kept = scratch.path().join("kept.json");
    std::fs::write(&kept, "kept").unwrap();
    refuses_what_all_refuse("everything", &folder);
    let out = ["--patient", "ann", "--out", kept.to_str().unwrap()];
    for (options, told) in [
        (["--type", "Device"], "it is 'Device'"),
        (["--start", "soon"], "must be a date like"),
        (["--since", "soon"], "must be an instant like"),
        (["--patient", "cid"], "there is no Patient with the id \"cid\""),
    ] {
        let named = if options[0] == "--patient" { &out[2..] } else { &out[..] };
        refused("everything", &folder, &[named, &options].concat(), told);
    }
    // An existing file stays unchanged.
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept");
    let nowhere = everything(&scratch.path().join("none"), &["--patient", "ann"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

/// Ten thousand resources need at most 64 MiB more than one resource.
#[test]
#[cfg(target_os = "linux")]
fn a_large_record_takes_little_memory() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    let mut text =
        String::from("{\"resourceType\":\"Patient\",\"id\":\"one\"}\n{\"resourceType\":\"Patient\",\"id\":\"many\"}\n");
    let filler = "word ".repeat(2_000);
    for at in 0..10_000 {
        writeln!(
            text,
            r#"{{"resourceType":"Observation","id":"o{at}","status":"final","code":{{"text":"c"}},"subject":{{"reference":"Patient/many"}},"note":[{{"text":"{at} {filler}"}}]}}"#
        )
        .unwrap();
    }
    imported(&folder, &text);
    let data = folder.to_str().unwrap();
    let [one, many] = ["one", "many"].map(|id| peak(&["everything", "--patient", id, "--data", data]));
    println!(
        "one resource {} MiB, 10,001 of them (100 MB) {} MiB",
        one >> 20,
        many >> 20
    );
    assert!(many < one + (64 << 20), "one {one}, many {many}");
}
