//! Values keep every digit, precision and offset, from files and from a lake, in all text formats.

use std::path::Path;
use std::process::Command;

/// Values in JSON: a decimal, and a dateTime, an instant or a year.
const VALUES: [(&str, &str); 9] = [
    ("100.10", r#""2020-01-01T10:00:00.100+02:00""#),
    ("123456789012345678", r#""2020""#),
    ("0.123456789012345678", r#""2020-03""#),
    ("1.50E2", r#""2020-03-04""#),
    ("-0.00", r#""2020-03-04T23:59:59Z""#),
    (
        "1234567890123456789012345678901234567890.5",
        r#""2020-03-04T23:59:59.123456789+14:00""#,
    ),
    (
        "0.000000000000000000000000000000000000000001",
        r#""2015-02-07T13:28:17.239-00:00""#,
    ),
    ("5e-7", r#""2015-02-07T13:28:17.000000Z""#),
    ("0", r#""1969-12-31T23:59:59.999-05:00""#),
];

const VIEW: &str = r#"{"resourceType":"ViewDefinition","name":"values","status":"active","resource":"Observation","select":[{"column":[
    {"name":"value","path":"value.ofType(Quantity).value","type":"decimal"},
    {"name":"untyped","path":"iif(id.exists(), value.ofType(Quantity).value, {})"},
    {"name":"inner","path":"component.value.ofType(Quantity).value","type":"decimal","collection":true},
    {"name":"effective","path":"effective.ofType(dateTime)","type":"dateTime"},
    {"name":"start","path":"component.value.ofType(Period).start","type":"dateTime"}
]}]}"#;

fn run(folder: &Path, source: &[&str], format: &str) -> String {
    let found = Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .current_dir(folder)
        .args([&["run", "view.json", "--format", format], source].concat())
        .output()
        .unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    String::from_utf8(found.stdout).unwrap()
}

#[test]
fn digits_precision_and_offset_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut lines = String::new();
    let (mut csv, mut ndjson) = ("value,untyped,inner,effective,start\n".to_owned(), String::new());
    for (at, (number, time)) in VALUES.iter().enumerate() {
        lines += &format!(
            r#"{{"resourceType":"Observation","id":"o{at}","status":"final","code":{{"text":"x"}},"subject":{{"reference":"Patient/p"}},"effectiveDateTime":{time},"valueQuantity":{{"value":{number}}},"component":[{{"code":{{"text":"a"}},"valueQuantity":{{"value":{number}}}}},{{"code":{{"text":"b"}},"valueQuantity":{{"value":2.00}}}},{{"code":{{"text":"c"}},"valuePeriod":{{"start":{time}}}}}]}}"#
        );
        lines.push('\n');
        let bare = time.trim_matches('"');
        csv += &format!("{number},{number},\"[{number},2.00]\",{bare},{bare}\n");
        ndjson += &format!(
            r#"{{"value":{number},"untyped":{number},"inner":[{number},2.00],"effective":{time},"start":{time}}}"#
        );
        ndjson.push('\n');
    }
    std::fs::write(folder.join("view.json"), VIEW).unwrap();
    std::fs::write(folder.join("input.ndjson"), lines).unwrap();
    let imported = Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .current_dir(folder)
        .args(["import", "--data", "lake", "input.ndjson"])
        .output()
        .unwrap();
    assert!(
        imported.status.success(),
        "{}",
        String::from_utf8_lossy(&imported.stderr)
    );
    let json = format!("[{}]", ndjson.trim_end().replace('\n', ","));
    for source in [["--input", "input.ndjson"], ["--data", "lake"]] {
        assert_eq!(run(folder, &source, "csv"), csv, "{source:?}");
        assert_eq!(run(folder, &source, "ndjson"), ndjson, "{source:?}");
        let found = run(folder, &source, "json");
        let squeezed: String = found.split('\n').map(str::trim).collect();
        assert_eq!(squeezed, json, "{source:?}");
    }
}

/// Texts in JSON, and their form in a CSV cell.
const TEXTS: [(&str, &str); 8] = [
    (r#""123456789012345678901234567890""#, "123456789012345678901234567890"),
    (r#""007""#, "007"),
    (r#""1e3""#, "1e3"),
    (r#""-0.0""#, "-0.0"),
    (r#""é 😀 \"q\", z""#, "\"é 😀 \"\"q\"\", z\""),
    (r#""two\nlines""#, "\"two\nlines\""),
    (r#"" spaces ""#, " spaces "),
    (r#""tab\tback\\slash/""#, "tab\tback\\slash/"),
];

/// Times of day of all precisions in R4, and unusual ones.
const TIMES: [&str; 8] = [
    "10:30:00",
    "23:59:59.999",
    "00:00:00",
    "10:30:00.0",
    "10:30:00.123456789",
    "12:00:00.10",
    "23:59:60",
    "04:05:06",
];

#[test]
fn texts_and_times_stay() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let view = r#"{"resourceType":"ViewDefinition","name":"texts","status":"active","resource":"Observation","select":[{"column":[
        {"name":"text","path":"value.ofType(string)","type":"string"},
        {"name":"time","path":"component.value.ofType(time)","type":"time"},
        {"name":"year","path":"component.value.ofType(dateTime)"}]}]}"#;
    let (mut lines, mut csv, mut ndjson) = (String::new(), "text,time,year\n".to_owned(), String::new());
    for (at, ((json, cell), time)) in TEXTS.iter().zip(TIMES).enumerate() {
        lines += &format!(
            r#"{{"resourceType":"Observation","id":"o{at}","status":"final","code":{{"text":"x"}},"valueString":{json},"component":[{{"code":{{"text":"a"}},"valueTime":"{time}"}},{{"code":{{"text":"b"}},"valueDateTime":"0001"}}]}}"#
        );
        lines.push('\n');
        csv += &format!("{cell},{time},0001\n");
        ndjson += &format!(r#"{{"text":{json},"time":"{time}","year":"0001"}}"#);
        ndjson.push('\n');
    }
    std::fs::write(folder.join("view.json"), view).unwrap();
    std::fs::write(folder.join("input.ndjson"), lines).unwrap();
    let imported = Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .current_dir(folder)
        .args(["import", "--data", "lake", "input.ndjson"])
        .output()
        .unwrap();
    assert!(imported.status.success());
    for source in [["--input", "input.ndjson"], ["--data", "lake"]] {
        assert_eq!(run(folder, &source, "csv"), csv, "{source:?}");
        assert_eq!(run(folder, &source, "ndjson"), ndjson, "{source:?}");
    }
}
