//! `TABULARIUM_DATA`, `tabularium.toml` and `tabularium config check`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{command, done, failed, folder, run, text};

fn write(folder: &Path, toml: &str) {
    std::fs::write(folder.join("tabularium.toml"), toml).unwrap();
}

#[test]
fn the_option_goes_before_the_environment_and_that_before_the_file() {
    let folder = folder();
    let path = folder.path();
    let inner = path.join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    done(path, &["import", "--data", "other", "people.ndjson", "--mode", "test"]);
    write(path, "data = \"lake\"\n");
    // A subfolder finds the file, and the file's paths are relative to its own folder.
    assert!(done(&inner, &["info"]).contains("live.Patient"));
    let with = |arguments: &[&str]| {
        let output = command(path, arguments)
            .env("TABULARIUM_DATA", path.join("other"))
            .output();
        text(&output.unwrap().stdout)
    };
    assert!(with(&["info"]).contains("test.Patient"));
    assert!(with(&["info", "--data", "lake"]).contains("live.Patient"));
    // An argument that replaces the folder also overrides the environment and the file.
    let rows = with(&["run", "view.json", "--input", "people.ndjson"]);
    assert_eq!(rows.lines().count(), 4, "{rows}");
    assert_eq!(
        with(&["fhirpath", "1 + 1"]),
        "[{\"type\": \"integer\", \"value\": 2}]\n"
    );
}

#[test]
fn serve_takes_its_options_from_the_file() {
    let folder = folder();
    let path = folder.path();
    write(
        path,
        "data = \"lake\"\n\n[serve]\nlisten = \"127.0.0.1:0\"\nbase-url = \"https://records.example.org\"\nsyncs = 2\n\
         binary-host = [\"https://one.example\", \"https://two.example\"]\nallow-explain = true\n",
    );
    let served = |arguments: &[&str]| {
        let mut child = command(path, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        line
    };
    assert!(served(&["serve"]).ends_with(" at https://records.example.org/fhir\n"));
    let line = served(&["serve", "--base-url", "https://other.example.org"]);
    assert!(line.ends_with(" at https://other.example.org/fhir\n"), "{line}");
}

#[test]
fn what_is_set_is_shown_with_its_source() {
    let folder = folder();
    let path = folder.path();
    assert_eq!(
        done(path, &["config", "check"]),
        "no tabularium.toml in this folder or above it\n"
    );
    write(
        path,
        "data = \"lake\"\n\n[serve]\nsyncs = 2\nallow-explain = true\nallow-private-sources = false\n",
    );
    let shown = done(path, &["config", "check"]);
    let shown = shown.replace(path.canonicalize().unwrap().to_str().unwrap(), "DIR");
    // The width of the value column depends on the folder's name.
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.collect::<Vec<_>>().join("  ")
    };
    let shown = shown.lines().map(|line| cells(line) + "\n").collect::<String>();
    expect_test::expect![[r#"
        DIR/tabularium.toml
        setting  value  from
        data  DIR/lake  line 1
        serve.syncs  2  line 4
        serve.allow-explain  true  line 5
    "#]]
    .assert_eq(&shown);
    let output = command(path, &["config", "check", "--json"])
        .env("TABULARIUM_DATA", "elsewhere")
        .output();
    let told: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    assert_eq!(told["settings"][0]["from"], "environment");
    assert_eq!(
        (&told["settings"][1]["line"], &told["settings"][1]["overruled"]),
        (&1.into(), &true.into())
    );
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_key_and_line() {
    let folder = folder();
    let path = folder.path();
    write(
        path,
        "dat = \"lake\"\nsyncs = 3\n[serve]\nlisen = \"127.0.0.1:1\"\nsyncs = 1000\nlisten = \"18300\"\nbase-url = [\"a\"]\n\
         allow-explain = \"yes\"\nlog-format = \"xml\"\nkey-command = \"rm -r /\"\ndata = \"x\"\nuntil-stdin-ends = true\n",
    );
    let (code, said) = failed(path, &["config", "check"]);
    assert_eq!(code, Some(2));
    let said = said.replace(path.canonicalize().unwrap().to_str().unwrap(), "DIR");
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_by_key(|line| line.split(':').nth(2).and_then(|line| line.parse::<u32>().ok()));
    expect_test::expect![[r#"
        tabularium: DIR/tabularium.toml:1: dat is not known; did you mean 'data'?
        tabularium: DIR/tabularium.toml:2: syncs belongs below [serve]
        tabularium: DIR/tabularium.toml:4: serve.lisen is no option of serve; did you mean 'listen'?
        tabularium: DIR/tabularium.toml:5: serve.syncs: invalid value '1000' for '--syncs <N>': 1000 is not in 1..=256
        tabularium: DIR/tabularium.toml:6: serve.listen "18300" is a port alone; an address goes before it: 127.0.0.1:18300, or 0.0.0.0:18300 for all
        tabularium: DIR/tabularium.toml:7: serve.base-url takes one value, not a list
        tabularium: DIR/tabularium.toml:8: serve.allow-explain is true or false
        tabularium: DIR/tabularium.toml:9: serve.log-format: invalid value 'xml' for '--log-format <LOG_FORMAT>' [possible values: text, json]
        tabularium: DIR/tabularium.toml:10: serve.key-command runs a command, and no file is trusted with that; give --key-command
        tabularium: DIR/tabularium.toml:11: serve.data stands above [serve], because all commands take it
        tabularium: DIR/tabularium.toml:12: serve.until-stdin-ends is no option of serve"#]]
    .assert_eq(&lines.join("\n"));
    // What a setting names is read.
    let empty = path.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let settings = "[serve]\nbranding = \"nowhere\"\nlanguages = \"nope\"\nsearch-parameters = \"none\"\n\
                    terminology = \"empty\"\nkey-file = \"no.key\"\nbase-url = \"records\"\n";
    write(path, settings);
    let (code, said) = failed(path, &["config", "check"]);
    assert_eq!(code, Some(2), "{said}");
    for (line, key, what) in [
        (2, "branding", "nowhere"),
        (3, "languages", "nope"),
        (4, "search-parameters", "none"),
        (5, "terminology", "empty"),
        (6, "key-file", "no.key"),
        (7, "base-url", "\"records\" is no base address"),
    ] {
        let named = format!("tabularium.toml:{line}: serve.{key}: ");
        let told = said.lines().any(|told| told.contains(&named) && told.contains(what));
        assert!(told, "{key}: {said}");
    }
    write(path, "");
    let (code, said) = failed(
        path,
        &[
            "serve",
            "--data",
            "lake",
            "--languages",
            "nope",
            "--listen",
            "127.0.0.1:0",
        ],
    );
    assert!(
        code == Some(2) && said.starts_with("tabularium: --languages: nope: "),
        "{said}"
    );
    write(path, "dat = 1\n");
    // All commands that would use the setting report the same error. Others do not read it.
    assert_eq!(failed(path, &["info"]).0, Some(2));
    assert!(run(path, &["info", "--data", "lake"]).status.success());
    assert!(run(path, &["info", "--help"]).status.success());
    write(path, "data = \n");
    let (code, said) = failed(path, &["config", "check"]);
    assert_eq!((code, said.contains("tabularium.toml:1: ")), (Some(2), true), "{said}");
}
