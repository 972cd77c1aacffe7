//! `import --normalize` and `tabularium normalize` as processes.

use std::path::Path;
use std::process::{Command, Output};

use crate::harness::process::PROGRAM;
use crate::harness::shared;

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The lines of the table of rules.
fn rules(output: &Output) -> Vec<String> {
    let said = said(output);
    let lines = said.lines().skip_while(|line| !line.starts_with("rule "));
    lines
        .take_while(|line| !line.starts_with("snapshot "))
        .map(str::to_owned)
        .collect()
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn what_an_import_makes_is_stored_once_and_is_what_a_dry_run_says() {
    let shared = shared();
    let records = shared.join("data/carin/ig-2.0.0");
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let import = || run(&["import", "--normalize", "--data", text(&lake), text(&records)]);
    let first = import();
    assert_eq!(first.status.code(), Some(0), "{first:?}");
    let made = rules(&first);
    assert!(
        made.iter().any(|line| line.starts_with("MedicationRequest  1 ")),
        "{made:?}"
    );
    let stored = |output: &Output| {
        let said = said(output);
        let total = said.lines().find(|line| line.starts_with("total ")).unwrap();
        total.split_whitespace().nth(2).unwrap().parse::<u64>().unwrap()
    };
    assert!(stored(&first) > 60);
    assert_eq!(stored(&import()), 0, "the same records again");

    let dry = run(&["normalize", "--dry-run", "--diff", text(&records)]);
    assert_eq!(dry.status.code(), Some(0), "{dry:?}");
    assert_eq!(rules(&dry), made);
    let differences = said(&dry);
    for made in [
        "+++ MedicationRequest/",
        "+++ Encounter/",
        "+++ Condition/",
        "+++ Procedure/",
    ] {
        assert!(differences.contains(made), "no {made}");
    }
    assert!(
        differences.contains("+            \"code\": \"00777310502\""),
        "no NDC of eleven digits"
    );

    let dry = run(&["normalize", "--dry-run", "--diff", "--json", text(&records)]);
    let object: serde_json::Value = serde_json::from_slice(&dry.stdout).unwrap();
    assert_eq!(
        (&object["dryRun"], &object["rules"]["MedicationRequest"]["made"]),
        (&true.into(), &1.into())
    );
    let resources = object["resources"].as_array().unwrap();
    let order = resources
        .iter()
        .find(|one| one["resource"].as_str().unwrap().starts_with("MedicationRequest/"));
    let order = order.unwrap();
    assert!(order["before"].is_null() && order["after"]["resourceType"] == "MedicationRequest");
    assert_eq!(rules(&run(&["normalize", "--dry-run", text(&records)])), made);

    // An order that the import made is found as any other is.
    let found = run(&[
        "search",
        "--data",
        text(&lake),
        "MedicationRequest?code=00777310502&_summary=count",
    ]);
    assert!(
        said(&found).contains("\"total\": 1") || said(&found).contains("\"total\":1"),
        "{found:?}"
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_later_import_takes_back_what_its_claim_no_longer_supports() {
    let shared = shared();
    let claim = shared.join("data/carin/ig-2.0.0/ExplanationOfBenefit-EOBPharmacy1.json");
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let import = |path: &Path| {
        let output = run(&["import", "--normalize", "--data", text(&lake), text(path)]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    };
    let orders = || {
        let found = run(&["search", "--data", text(&lake), "MedicationRequest?_summary=count"]);
        let bundle: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
        bundle["total"].as_u64().unwrap()
    };
    import(&claim);
    assert_eq!(orders(), 1);
    let mut cancelled: serde_json::Value = serde_json::from_slice(&std::fs::read(&claim).unwrap()).unwrap();
    cancelled["status"] = "cancelled".into();
    let path = folder.path().join("cancelled.json");
    std::fs::write(&path, cancelled.to_string()).unwrap();
    import(&path);
    assert_eq!(orders(), 0);
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let (lake, records) = (folder.path().join("lake"), folder.path().join("p.json"));
    std::fs::write(&records, r#"{"resourceType":"Patient","id":"p"}"#).unwrap();
    assert_eq!(
        run(&["import", "--data", text(&lake), text(&records)]).status.code(),
        Some(0)
    );
    let missing = folder.path().join("missing");
    for (arguments, wanted) in [
        (vec!["normalize", "--dry-run", text(&missing)], "no such file or folder"),
        (vec!["normalize", text(&records)], "--dry-run"),
        (
            vec!["normalize", "--data", text(&lake), "--consent", "x"],
            "there is no consent \"x\"",
        ),
        (vec!["normalize"], "PATH"),
        (vec!["normalize", "--data", text(&lake)], "--consent"),
    ] {
        let output = run(&arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
}
