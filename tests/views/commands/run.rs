//! `tabularium run` over files and over a lake: its exit codes and its remaining files.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::harness::records::{self, Record};

pub(in crate::views) fn tabularium(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .args(arguments)
        .output()
        .unwrap()
}

pub(in crate::views) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(in crate::views) fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// A folder with a view of patients' names and input of several kinds.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let view = json!({"resourceType": "ViewDefinition", "name": "names", "status": "active", "resource": "Patient",
        "select": [{"column": [{"name": "id", "path": "id"}]},
            {"forEachOrNull": "name", "column": [{"name": "family", "path": "family"}]}]});
    let patient = |id: &str, family: &str| json!({"resourceType": "Patient", "id": id, "name": [{"family": family}]});
    let input = folder.path().join("input");
    std::fs::create_dir(&input).unwrap();
    std::fs::write(folder.path().join("view.json"), view.to_string()).unwrap();
    let bundle = json!({"resourceType": "Bundle", "type": "collection", "entry": [{"resource": patient("c", "Cato")},
        {"resource": {"resourceType": "Observation", "id": "o"}}, {"request": {"method": "DELETE", "url": "Patient/x"}}]});
    std::fs::write(
        input.join("1.ndjson"),
        format!("{}\n\n{}\n", patient("a", "Aulus"), patient("b", "Brutus, M.")),
    )
    .unwrap();
    std::fs::write(input.join("2.json"), serde_json::to_string_pretty(&bundle).unwrap()).unwrap();
    std::fs::write(
        input.join("3.json"),
        json!({"resourceType": "Patient", "id": "d"}).to_string(),
    )
    .unwrap();
    std::fs::write(input.join("notes.txt"), "not for us").unwrap();
    folder
}

const ROWS: &str = "id,family\na,Aulus\nb,\"Brutus, M.\"\nc,Cato\nd,\n";

#[test]
fn files_of_all_kinds_are_tabulated_in_order() {
    let folder = folder();
    let (view, input) = (path(folder.path(), "view.json"), path(folder.path(), "input"));
    let found = tabularium(&["run", &view, "--input", &input]);
    assert_eq!((text(&found.stdout).as_str(), text(&found.stderr).as_str()), (ROWS, ""));
    assert_eq!(found.status.code(), Some(0));
    let limited = tabularium(&["run", &view, "--input", &input, "--limit", "2", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_slice(&limited.stdout).unwrap();
    assert_eq!(
        rows,
        json!([{"id": "a", "family": "Aulus"}, {"id": "b", "family": "Brutus, M."}])
    );
    let out = path(folder.path(), "rows.csv");
    let found = tabularium(&["run", &view, "--input", &input, "--out", &out]);
    assert_eq!(
        (text(&found.stdout), found.status.code()),
        (format!("4 rows to {out}\n"), Some(0))
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap(), ROWS);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_lake_gives_the_same_rows() {
    let folder = folder();
    let lake = records::lake();
    let patient = |id: &str, name: serde_json::Value| {
        Record::new(json!({"resourceType": "Patient", "id": id, "name": name})).owner(i64::from(id.as_bytes()[0]))
    };
    let family = |family: &str| json!([{"family": family}]);
    let records = [
        patient("a", family("Aulus")),
        patient("b", family("Brutus, M.")),
        patient("c", family("Cato")),
        patient("d", json!([])),
        patient("x", family("Other")).application("other"),
    ];
    records::commit(&lake.1, &records);
    let (view, data) = (path(folder.path(), "view.json"), lake.0.path().to_str().unwrap());
    let found = tabularium(&["run", &view, "--data", data]);
    assert_eq!((text(&found.stdout).as_str(), text(&found.stderr).as_str()), (ROWS, ""));
    let explained = text(&tabularium(&["run", &view, "--data", data, "--explain"]).stdout);
    assert!(
        explained.contains("leaves=[_id, id, name, name._family, name.family]"),
        "{explained}"
    );
    assert!(!explained.contains("metrics"), "{explained}");
    let analyzed = text(&tabularium(&["run", &view, "--data", data, "--explain=analyze"]).stdout);
    for part in [
        "metrics=[",
        "rows_of_names=4",
        "Patient: scanned for id, name.family",
        "files       1 of 1 read",
        "  name.family\n",
    ] {
        assert!(analyzed.contains(part), "{part}: {analyzed}");
    }
    let out = path(folder.path(), "rows.parquet");
    assert_eq!(
        tabularium(&["run", &view, "--data", data, "--out", &out]).status.code(),
        Some(0)
    );
    assert!(std::fs::read(&out).unwrap().ends_with(b"PAR1"));
}

#[test]
fn a_faulty_view_is_one_sentence_and_exit_code_2() {
    let folder = folder();
    let (view, input) = (path(folder.path(), "view.json"), path(folder.path(), "input"));
    let refused = |view: &str, arguments: &[&str], expected: &str| {
        let found = tabularium(&[&["run", view], arguments].concat());
        assert_eq!(found.status.code(), Some(2), "{}", text(&found.stderr));
        let said = text(&found.stderr);
        let errors = said.lines().filter(|line| !line.contains(": warning: ")).count();
        assert!(said.contains(expected) && errors == 1, "{said}");
    };
    let faulty = path(folder.path(), "faulty.json");
    std::fs::write(
        &faulty,
        r#"{"resource":"Patient","select":[{"column":[{"name":"x","path":"nam"}]}]}"#,
    )
    .unwrap();
    refused(
        &faulty,
        &["--input", &input],
        "ViewDefinition.select[0].column[0].path: column 'x': Patient has no element 'nam'",
    );
    std::fs::write(
        &faulty,
        r#"{"resource":"Patient","select":[{"column":[{"name":"x","path":"id | id.length()"}]}]}"#,
    )
    .unwrap();
    let out = path(folder.path(), "rows.csv");
    refused(&faulty, &["--input", &input, "--out", &out], "column 'x' has 2 values");
    assert!(!Path::new(&out).exists());
    let pair =
        |place: usize| json!({"forEach": "('a'|'b')", "column": [{"name": format!("c{place}"), "path": "$this"}]});
    let many = json!({"resource": "Patient", "select": (0..24).map(pair).collect::<Vec<_>>()});
    std::fs::write(&faulty, many.to_string()).unwrap();
    let costly = tabularium(&["run", &faulty, "--input", &input, "--out", &out]);
    let said = text(&costly.stderr);
    assert!(said.contains("too many rows for one of the resources"), "{said}");
    assert_eq!((costly.status.code(), Path::new(&out).exists()), (Some(3), false));
    refused(&path(folder.path(), "no.json"), &["--input", &input], "no.json");
    refused(&view, &["--input", &path(folder.path(), "nowhere")], "nowhere");
    refused(&view, &["--data", &path(folder.path(), "nowhere")], "nowhere");
}

/// An error over the data said "one of the resources", and gave nothing to look for.
#[test]
fn an_error_over_the_data_names_its_resource() {
    let folder = folder();
    let lake = records::lake();
    let patient = |id: &str, given: serde_json::Value| {
        Record::new(json!({"resourceType": "Patient", "id": id, "name": [{"given": given}]}))
            .owner(i64::from(id.as_bytes()[0]))
    };
    let mut all: Vec<Record> = ('a'..='s').map(|id| patient(&id.to_string(), json!(["one"]))).collect();
    all.push(patient("t", json!(["first", "second"])));
    all.push(patient("u", json!(["first", "second"])).application("other"));
    records::commit(&lake.1, &all);
    let input = path(folder.path(), "names.ndjson");
    let lines = "{\"resourceType\":\"Patient\",\"id\":\"s\"}\n\
        {\"resourceType\":\"Patient\",\"id\":\"t\",\"name\":[{\"given\":[\"first\",\"second\"]}]}\n";
    std::fs::write(&input, lines).unwrap();
    let data = lake.0.path().to_str().unwrap();
    let view = path(folder.path(), "given.json");
    // None of these views reads the id.
    for (definition, expected) in [
        (
            json!({"resource": "Patient", "select": [{"column": [{"name": "x", "path": "name.given"}]}]}),
            "column 'x' has 2 values in one row",
        ),
        (
            json!({"resource": "Patient", "select": [{"forEach": "name", "column": [{"name": "x", "path": "given"}]}]}),
            "column 'x' has 2 values in one row",
        ),
        (
            json!({"resource": "Patient", "where": [{"path": "name.given.select($this = 'one')"}],
                "select": [{"column": [{"name": "x", "path": "gender"}]}]}),
            "must be true, false or empty, but is not for one of the resources",
        ),
    ] {
        std::fs::write(&view, definition.to_string()).unwrap();
        for source in [["--data", data], ["--input", &input]] {
            for extra in [&[][..], &["--format", "parquet", "--out", "rows.parquet"]] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
                command.current_dir(folder.path()).args(["run", &view]);
                let found = command.args(source).args(extra).output().unwrap();
                let said = text(&found.stderr);
                let error = said.lines().last().unwrap();
                assert!(
                    error.contains(expected) && error.ends_with("(in Patient/t)") && !error.contains("second"),
                    "{said}"
                );
                assert_eq!(found.status.code(), Some(2), "{said}");
            }
        }
    }
}

/// `validate-view` warned of a misspelt property, and `run` said nothing of it.
#[test]
fn what_may_concern_the_rows_is_warned_of() {
    let folder = folder();
    let (view, input) = (path(folder.path(), "doubtful.json"), path(folder.path(), "input"));
    let definition = json!({"resource": "Patient", "wher": [{"path": "active"}],
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "x", "path": "name.family"}]}]});
    std::fs::write(&view, definition.to_string()).unwrap();
    let found = tabularium(&["run", &view, "--input", &input]);
    let said = text(&found.stderr);
    assert_eq!(found.status.code(), Some(0), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("wher: is no property of a ViewDefinition and does nothing; did you mean 'where'?"));
    assert!(lines[1].contains("column 'x': may have several values in a row"));
}

/// A truncated gzip used to count as one refused resource, and the table lacked an unknown number of rows.
#[test]
fn input_that_ends_too_early_gives_no_table() {
    let folder = folder();
    let whole = folder.path().join("input/1.ndjson");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::copy(&mut std::fs::File::open(&whole).unwrap(), &mut encoder).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() - 4);
    std::fs::write(folder.path().join("input/cut.ndjson.gz"), bytes).unwrap();
    let (view, input) = (path(folder.path(), "view.json"), path(folder.path(), "input"));
    let out = path(folder.path(), "out.csv");
    let found = tabularium(&["run", &view, "--input", &input, "--out", &out]);
    assert_eq!(found.status.code(), Some(2));
    let said = text(&found.stderr);
    assert!(said.contains("cut.ndjson.gz could not be read to its end"), "{said}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn what_is_refused_is_named_and_the_rest_goes_on() {
    let folder = folder();
    let input = folder.path().join("input");
    std::fs::write(
        input.join("0.ndjson"),
        "{\"resourceType\":\"Patient\",\"id\":\"z\"}\n{\"resourceType\":\n",
    )
    .unwrap();
    let (view, input) = (path(folder.path(), "view.json"), input.to_str().unwrap().to_owned());
    let found = tabularium(&["run", &view, "--input", &input]);
    assert_eq!(text(&found.stdout), ROWS.replace("id,family\n", "id,family\nz,\n"));
    assert_eq!(found.status.code(), Some(3));
    let said = text(&found.stderr);
    assert!(said.contains("0.ndjson:2: not JSON: the text ends too early"), "{said}");
}

/// Unnamed elements are skipped, but they are checked as strictly as others.
#[test]
fn what_no_view_names_is_checked_all_the_same() {
    let folder = folder();
    let input = folder.path().join("input");
    let lines = [
        // The type may be anywhere in the text, and contained resources have their own.
        r#"{"contained":[{"resourceType":"Patient","id":"no"}],"id":"w","name":[{"family":"Wulf"}],"resourceType":"Patient"}"#,
        r#"{"contained":[{"resourceType":"Patient","id":"no"}],"resourceType":"Observation","resourceType":"Patient","id":"y"}"#,
        r#"{"resourceType":"Patient","id":"cut","photo":[{"url":"x}]}"#,
        r#"{"resourceType":"Observation","id":"other","note":[{"text":"\x"}]}"#,
        r#"{"resourceType":"Patient","id":"twice","name":[{"family":"F","use":"usual","use":"official"}]}"#,
        // Unread elements are not checked for duplicates, and elements unknown to R4 do not count.
        r#"{"resourceType":"Patient","id":"z","contact":[{"gender":"male","gender":"male"}],"x":1,"x":2}"#,
    ];
    std::fs::write(input.join("0.ndjson"), lines.join("\n")).unwrap();
    let entries = [
        json!({"resourceType": "Bundle", "entry": [{"resource": {"resourceType": "Patient", "id": "inner"}}]}),
        json!({"resource": "x"}),
    ];
    let entry = format!(
        r#"{{"resource":{}}},{},{{"resource":{{"id":"b1","active":true,"resourceType":"Patient","active":true}}}},
        {{"resource":{{"id":"b2","resourceType":"Patient"}}}}"#,
        entries[0], entries[1]
    );
    std::fs::write(
        input.join("00.json"),
        format!(r#"{{"entry":[{{}}],"resourceType":"Bundle","entry":[{entry}]}}"#),
    )
    .unwrap();
    let (view, input) = (path(folder.path(), "view.json"), input.to_str().unwrap().to_owned());
    let found = tabularium(&["run", &view, "--input", &input]);
    let said = text(&found.stderr);
    let rows = text(&found.stdout);
    assert_eq!(
        rows,
        ROWS.replace("id,family\n", "id,family\nw,Wulf\ny,\nz,\nb2,\n"),
        "{said}"
    );
    assert_eq!(found.status.code(), Some(3));
    let refused: Vec<&str> = said.lines().filter(|line| line.starts_with("refused")).collect();
    let expected = [
        "0.ndjson:3: not JSON: the text ends too early at column 59",
        "0.ndjson:4: not JSON: an escape that JSON does not allow at column 61",
        "0.ndjson:5: the property `use` stands twice in one object",
        "00.json:1: the property `active` stands twice in one object",
    ];
    assert_eq!(refused.len(), expected.len(), "{said}");
    for (refused, expected) in refused.iter().zip(expected) {
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A large text that fits only once must not block the one after it.
#[test]
fn large_documents_follow_each_other() {
    let folder = folder();
    let input = folder.path().join("large");
    std::fs::create_dir(&input).unwrap();
    let padding = "x".repeat(1 << 20);
    for name in ["a", "b", "c"] {
        let patient = |place: usize| json!({"resource": {"resourceType": "Patient", "id": format!("{name}{place}"), "text": {"div": padding}}});
        let bundle = json!({"resourceType": "Bundle", "entry": (0..17).map(patient).collect::<Vec<_>>()});
        std::fs::write(input.join(format!("{name}.json")), bundle.to_string()).unwrap();
    }
    let (view, input) = (path(folder.path(), "view.json"), input.to_str().unwrap().to_owned());
    let ids = ["a", "b", "c"].map(|name| (0..17).map(move |place| format!("{name}{place},\n")));
    let expected: String = ids.into_iter().flatten().collect();
    let found = tabularium(&["run", &view, "--input", &input, "--no-header"]);
    assert_eq!((text(&found.stdout), text(&found.stderr)), (expected, String::new()));
    let found = tabularium(&["run", &view, "--input", &input, "--no-header", "--limit", "2"]);
    assert_eq!(text(&found.stdout), "a0,\na1,\n");
}

/// Rows went to a temporary file, which then replaced the target, even if that was a device, a pipe or a link.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_through() {
    use std::os::unix::fs::FileTypeExt;
    let folder = folder();
    let (view, input) = (path(folder.path(), "view.json"), path(folder.path(), "input"));
    let pipe = path(folder.path(), "pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut reader = Command::new("cat")
        .arg(&pipe)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let found = tabularium(&["run", &view, "--input", &input, "--out", &pipe]);
    let is_pipe = std::fs::metadata(&pipe).unwrap().file_type().is_fifo();
    if !is_pipe {
        reader.kill().unwrap();
    }
    assert!(is_pipe && found.status.success(), "{}", text(&found.stderr));
    assert_eq!(text(&reader.wait_with_output().unwrap().stdout), ROWS);

    let (file, link) = (path(folder.path(), "rows.csv"), path(folder.path(), "link.csv"));
    std::fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let found = tabularium(&["run", &view, "--input", &input, "--out", &link]);
    assert!(found.status.success(), "{}", text(&found.stderr));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ROWS);
}

#[test]
fn what_cannot_be_written_or_must_not_be_is_refused_before_a_row_is_read() {
    let folder = folder();
    let (view, input) = (path(folder.path(), "view.json"), path(folder.path(), "input"));
    let lake = records::lake();
    let data = lake.0.path().to_str().unwrap();
    let refused = |arguments: &[&str], expected: &str| {
        let found = tabularium(&[&["run"], arguments].concat());
        let said = text(&found.stderr);
        assert_eq!(found.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{said}");
        assert_eq!(text(&found.stdout), "");
    };
    let records = path(folder.path(), "input/1.ndjson");
    let before = std::fs::read(&records).unwrap();
    refused(&[&view, "--input", &input, "--out", &records], "1.ndjson is an input");
    refused(&[&view, "--input", &records, "--out", &records], "1.ndjson is an input");
    assert_eq!(std::fs::read(&records).unwrap(), before);
    refused(&[&view, "--input", &records, "--out", &input], "is a folder");
    refused(
        &[&view, "--input", &records, "--out", &format!("{input}/new/")],
        "is a folder",
    );
    for name in ["catalog.sqlite", "rows.csv"] {
        refused(
            &[&view, "--data", data, "--out", &path(lake.0.path(), name)],
            "lies in the lake",
        );
    }
    refused(&[&view, "--input", &records, "--explain"], "--explain");
    let large = path(folder.path(), "large.json");
    std::fs::write(&large, vec![b' '; (16 << 20) + 1]).unwrap();
    refused(&[&large, "--input", &records], "large.json: is larger than 16 MiB");
    let found = tabularium(&["validate-view", &large]);
    assert_eq!(found.status.code(), Some(2));
}

/// The error used to name the column only, so that nobody could find the record.
#[test]
fn a_value_that_does_not_fit_its_tag_is_named_by_its_resource() {
    let folder = tempfile::tempdir().unwrap();
    let patient = |id: usize, family: &str| json!({"resourceType": "Patient", "id": format!("p{id}"), "name": [{"family": family}]});
    let mut records: Vec<String> = (0..40).map(|id| patient(id, &format!("{id}")).to_string()).collect();
    records[29] = patient(29, "Secretson").to_string();
    let view = json!({"resourceType": "ViewDefinition", "name": "numbers", "status": "active", "resource": "Patient",
        "select": [{"column": [{"name": "number", "path": "name.family.first()",
            "tag": [{"name": "ansi/type", "value": "INTEGER"}]}]}]});
    let (file, views) = (path(folder.path(), "patients.ndjson"), folder.path().join("views"));
    std::fs::write(&file, records.join("\n")).unwrap();
    std::fs::create_dir(&views).unwrap();
    let view_file = path(&views, "numbers.json");
    std::fs::write(&view_file, view.to_string()).unwrap();
    let (lake, out) = (path(folder.path(), "lake"), path(folder.path(), "rows.parquet"));
    assert!(tabularium(&["import", &file, "--data", &lake]).status.success());
    let views = views.to_str().unwrap();
    let sql = "SELECT sum(number) FROM numbers";
    for (arguments, code) in [
        (vec!["run", &view_file, "--data", &lake, "--out", &out], 2),
        (vec!["run", &view_file, "--input", &file, "--out", &out], 2),
        (vec!["run", &view_file, "--input", &file, "--format", "parquet"], 2),
        (vec!["sql", sql, "--data", &lake, "--views", views], 2),
    ] {
        let done = tabularium(&arguments);
        let error = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {error}");
        let expected = "column 'number' is to be INTEGER, but one of its values cannot be (in Patient/p29)";
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!error.contains("Secretson"), "{error}");
    }
    // Rows before it are written if no more are wanted, and text needs no types.
    for arguments in [
        vec!["run", &view_file, "--input", &file, "--out", &out, "--limit", "29"],
        vec!["run", &view_file, "--input", &file, "--format", "csv"],
    ] {
        let done = tabularium(&arguments);
        assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    }
}
