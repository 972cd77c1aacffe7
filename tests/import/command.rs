//! The import command: its table and its exit codes.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use super::Fixture;

fn tabularium(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command
        .arg("import")
        .arg("--data")
        .arg(data)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_exit_code_says_how_it_went() {
    let fixture = Fixture::new();
    let data = fixture.folder.path().join("new/lake");
    let good = fixture.write("good.ndjson", "{\"resourceType\":\"Patient\",\"id\":\"p\"}\n");
    let bad = fixture.write(
        "bad.ndjson",
        "{\"resourceType\":\"Patient\",\"id\":\"q\"}\n{\"secret\":\"value\"}\n",
    );
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());

    let output = tabularium(&data, &[good]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "type     read  stored  unchanged  replaced  refused\n\
         Patient     1       1          0         0        0\n\
         total       1       1          0         0        0\n\
         snapshot 1\n"
    );

    let output = tabularium(&data, &[bad]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        format!("refused {bad}:2: has no resourceType\ntabularium: 1 resource was refused; the rest is stored\n")
    );
    assert!(!said.contains("secret"));

    let output = tabularium(&data, &[good, "/nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("/nowhere"));

    let lake = tabularium::lake::Lake::open(&data).unwrap();
    let writer = lake.writer().unwrap();
    let output = tabularium(&data, &["--wait", "0", good]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is being written by process"), "{said}");
    drop(writer);
    assert_eq!(tabularium(&data, &[good]).status.code(), Some(0));
}

/// `tabularium import ... | head` panicked when the reader of its table ended.
#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let fixture = Fixture::new();
    let good = fixture.write("good.ndjson", "{\"resourceType\":\"Patient\",\"id\":\"p\"}\n");
    let mut import = Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .arg("import")
        .arg("--data")
        .arg(fixture.folder.path().join("new"))
        .arg(good)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(import.stdout.take());
    let output = import.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

/// A truncated gzip ended with exit code 3 and "the rest is stored", although whole lines before the cut were lost. The
/// message also appeared if there was no rest.
#[test]
fn the_message_does_not_promise_what_was_not_stored() {
    let fixture = Fixture::new();
    let data = fixture.folder.path().join("lake");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all("{\"resourceType\":\"Patient\",\"id\":\"p\"}\n".repeat(100).as_bytes())
        .unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.truncate(bytes.len() - 8);
    let cut = fixture.write("cut.ndjson.gz", bytes);
    let output = tabularium(&data, &[cut.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    let start = format!("tabularium: {} could not be read to its end: ", cut.display());
    assert!(said.starts_with(&start), "{said}");

    let bad = fixture.write("bad.ndjson", "{\"id\":\"q\"}\n");
    let good = fixture.write("good.ndjson", "{\"resourceType\":\"Patient\",\"id\":\"p\"}\n");
    let (bad, good) = (bad.to_str().unwrap(), good.to_str().unwrap());
    for (paths, end) in [
        (vec![bad], "tabularium: 1 resource was refused; nothing was stored\n"),
        (
            vec![bad, bad],
            "tabularium: 2 resources were refused; nothing was stored\n",
        ),
        (
            vec![bad, good],
            "tabularium: 1 resource was refused; the rest is stored\n",
        ),
        (
            vec![bad, good],
            "tabularium: 1 resource was refused; the rest is unchanged\n",
        ),
    ] {
        let output = tabularium(&data, &paths);
        assert_eq!(output.status.code(), Some(3));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.ends_with(end), "{said}");
    }
}
