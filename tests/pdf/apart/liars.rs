//! The process that reads attachments lies: an attachment has taken it over. The request still ends, with a whole file
//! or with an error that says so.

use std::fs::File;
use std::io::{Cursor, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use chrono::{TimeZone, Utc};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tabularium::patient::Record;
use tabularium::patient::pdf::apart::{Bounds, COMMAND};
use tabularium::patient::pdf::{Attached, Documents, Export, FetchError, Form, Part, Reader, Source, made};

use super::{drawn, letter, of, record};
use crate::harness::command::PROGRAM;
use crate::harness::kills::{chance, rounds};
use crate::pdf::reading::assert_in_order;

/// A program that is started in place of the reader: this test binary, which runs only [`liar`].
fn lying(folder: &Path, plan: &str) -> Reader {
    let program = folder.join("liar");
    let tests = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\nLIAR='{plan}' exec '{}' --exact pdf::apart::liars::liar --ignored --nocapture\n",
        tests.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let bounds = Bounds {
        wait: Duration::from_secs(3),
        attachment_wait: Duration::from_secs(1),
        ..Bounds::default()
    };
    Reader { program, bounds }
}

/// The first message of a process.
const READY: &str = r#"{"Ready":{"size":1000000}}"#;

/// A reader of which only the process with this number lies, from zero on. Those before it do nothing, and those after
/// it are honest.
fn lying_once(folder: &Path, number: usize, plan: &str) -> Reader {
    let reader = lying(folder, plan);
    let liar = folder.join("liar");
    let script = std::fs::read_to_string(&liar).unwrap().replace("#!/bin/sh\n", "");
    let is_first = |name: String| format!("mkdir '{}' 2>/dev/null", folder.join(name).display());
    let mut steps = "#!/bin/sh\n".to_owned();
    for before in 0..number {
        let ready = script.replacen(plan, &format!("{}\n{READY}", folder.display()), 1);
        steps += &format!("if {}; then\n{ready}fi\n", is_first(format!("process {before}")));
    }
    steps += &format!("if {}; then\n{script}fi\n", is_first("the liar".to_owned()));
    steps += &format!("exec '{PROGRAM}' \"$@\"\n");
    std::fs::write(&liar, steps).unwrap();
    Reader {
        bounds: Bounds::default(),
        ..reader
    }
}

/// Writes a frame.
fn say(out: &mut File, tag: u8, bytes: &[u8]) -> std::io::Result<()> {
    let length = (bytes.len() as u64).to_le_bytes();
    out.write_all(&[&[tag][..], &length, bytes].concat())
}

/// Says these lines: messages, and bytes of the file after `bytes `. The last one is repeated. If the starter listens
/// to all of that, leaves a file that says so.
fn recite(plan: &str, starter: &mut File) {
    let (folder, lines) = plan.split_once('\n').unwrap();
    let mut words = starter.try_clone().unwrap();
    // Answers are not of interest.
    std::thread::spawn(move || std::io::copy(&mut words, &mut std::io::sink()));
    let lines: Vec<&str> = lines.lines().collect();
    let last = lines.last().unwrap();
    for line in lines.iter().chain(std::iter::repeat_n(last, 100_000)) {
        let said = match line.strip_prefix("bytes ") {
            Some(bytes) => say(starter, 2, bytes.as_bytes()),
            None => say(starter, 1, line.as_bytes()),
        };
        if said.is_err() {
            return;
        }
    }
    std::fs::write(Path::new(folder).join("believed"), "").unwrap();
}

/// Speaks for the real program and changes what it says. The variable `LIAR` is a seed: it decides which byte is
/// changed, or whether the process says something else, says nothing, or ends. Otherwise, `LIAR` says a folder and what
/// the process says.
#[test]
#[ignore = "is started by other tests"]
fn liar() {
    let Ok(seed) = std::env::var("LIAR") else { return };
    let mut starter = File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
    let Ok(seed) = seed.parse() else {
        recite(&seed, &mut starter);
        std::process::exit(0);
    };
    let mut chance = ChaCha8Rng::seed_from_u64(seed);
    let (near, far) = UnixStream::pair().unwrap();
    let mut honest = Command::new(PROGRAM)
        .arg(COMMAND)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(far)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut questions, mut to_honest) = (starter.try_clone().unwrap(), near.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut questions, &mut to_honest));
    // The lie comes after so many bytes. Messages are short, and the file is long.
    let mut before: usize = *[20, 60, 200, 1_000, 20_000].get(chance.random_range(0..5)).unwrap();
    before = chance.random_range(0..before);
    let (mut answers, mut out) = (near, starter);
    let mut bytes = vec![0; 4_096];
    while let Ok(count @ 1..) = answers.read(&mut bytes) {
        if count <= before {
            before -= count;
            if out.write_all(&bytes[..count]).is_err() {
                break;
            }
            continue;
        }
        match chance.random_range(0..5) {
            0 => bytes[before] ^= 1 << chance.random_range(0..8),
            1 => chance.fill(&mut bytes[before..count]),
            2 => break,
            // The starter gives up.
            3 => std::thread::sleep(Duration::from_secs(600)),
            _ => while out.write_all(&[b'x'; 4_096]).is_ok() {},
        }
        before = usize::MAX;
        if out.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = honest.kill();
    let _ = honest.wait();
    std::process::exit(0);
}

/// Knows one document. A process that asks for another one is lying.
struct One;

impl Documents for One {
    fn get(&self, url: &str, _: u64) -> Result<Attached, FetchError> {
        assert_eq!(url, "Binary/b", "a document of somebody else was given away");
        Ok(Attached {
            content_type: Some("text/plain".to_owned()),
            bytes: b"one document".to_vec(),
        })
    }
}

/// A record with two letters, and a document that a process must ask for.
fn named() -> Record {
    let mut record = record(&[letter("one"), letter("two")]);
    let by_address =
        json!({"resourceType": "DocumentReference", "id": "u", "content": [{"attachment": {"url": "Binary/b"}}]});
    record.types.extend(of(vec![by_address]).types.into_iter().skip(1));
    record
}

/// Each lie is a sequence of valid messages. It counts as the end of the process, and others make the file.
#[test]
fn a_lie_in_valid_messages_costs_nothing() {
    let want = |room: u64| format!(r#"{{"Want":{{"part":0,"url":"Binary/b","room":{room}}}}}"#);
    let lies = [
        ("repeats that it finishes", 0, "\"Finishing\"".to_owned()),
        ("repeats that it has finished", 0, "\"Finished\"".to_owned()),
        (
            "finishes again and again",
            0,
            "\"Finishing\"\n\"Finished\"\n\"Finished\"".to_owned(),
        ),
        ("ends at once", 0, r#"{"Done":{"failed":[]}}"#.to_owned()),
        (
            "ends before the file",
            0,
            "\"Finishing\"\n\"Finished\"\n{\"Done\":{\"failed\":[]}}".to_owned(),
        ),
        (
            "ends amid the file",
            0,
            "\"Finishing\"\nbytes %PDF-1.7\n{\"Done\":{\"failed\":[]}}".to_owned(),
        ),
        (
            "has losses of nobody",
            0,
            "\"Finishing\"\nbytes %PDF-1.7\n\"Finished\"\n{\"Done\":{\"failed\":[7]}}".to_owned(),
        ),
        ("writes far behind the end", 0, format!("{{\"At\":{}}}", u64::MAX)),
        ("writes too much at once", 0, format!("bytes {}", "x".repeat(300_000))),
        (
            "reads while it writes",
            0,
            "\"Finishing\"\n{\"Begin\":0}\n{\"End\":0}\n{\"Begin\":1}".to_owned(),
        ),
        ("ends what it has not begun", 0, r#"{"End":0}"#.to_owned()),
        (
            "begins the same again",
            0,
            "{\"Begin\":0}\n{\"End\":0}\n{\"Begin\":0}".to_owned(),
        ),
        ("asks without an end", 0, want(u64::MAX)),
        (
            "asks for another's document",
            0,
            want(9).replace("Binary/b", "Binary/c"),
        ),
        ("asks for documents of no part", 0, want(9).replace(":0,", ":9,")),
        ("asks without an end in a trial", 1, want(u64::MAX)),
        (
            "asks for all again in a trial",
            1,
            format!("{{\"Begin\":0}}\n{{\"End\":0}}\n{}", want(1)),
        ),
        ("writes a file in a trial", 1, "bytes %PDF-1.7".to_owned()),
        ("finishes in a trial", 1, "\"Finishing\"".to_owned()),
        (
            "has the size of all memory",
            0,
            format!("{{\"Ready\":{{\"size\":{}}}}}", u64::MAX),
        ),
    ];
    for (what, number, lie) in lies {
        let folder = tempfile::tempdir().unwrap();
        let said = if lie.contains("Ready") {
            lie
        } else {
            format!("{READY}\n{lie}")
        };
        let reader = lying_once(folder.path(), number, &format!("{}\n{said}", folder.path().display()));
        let record = named();
        let (file, export) = drawn(&reader, &record, &One, Form::Document).unwrap();
        assert!(
            !folder.path().join("believed").exists(),
            "{what}: all of it was believed"
        );
        assert!(folder.path().join("the liar").exists(), "{what}");
        assert_eq!(
            (&export.failed, export.resources),
            (&Vec::new(), record.len()),
            "{what}"
        );
        let shown = [
            "seventy",
            "The contents of one.",
            "The contents of two.",
            "one document",
        ];
        assert_in_order(&file, &shown);
    }
}

/// The text of a process that could not be confined used to reach the log.
#[test]
fn the_words_of_a_process_reach_nobody() {
    for said in [
        r#"{"Unconfined":"Ann Other"}"#,
        r#"{"Unconfined":13}"#,
        r#"{"Failed":"Ann Other"}"#,
    ] {
        let folder = tempfile::tempdir().unwrap();
        let reader = lying(folder.path(), &format!("{}\n{said}", folder.path().display()));
        let error = drawn(&reader, &named(), &One, Form::Document).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("Ann Other"), "{shown}");
        if said.contains("13") {
            assert!(
                shown.contains("the process could not be confined: system error 13"),
                "{shown}"
            );
        }
    }
}

#[test]
fn whatever_a_process_says_the_request_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut chance = chance(413);
    for _ in 0..rounds(6) {
        let reader = lying(folder.path(), &chance.random_range(0..1_000_000_u64).to_string());
        let record = named();
        let source = Source::imported();
        let part = Part {
            source: &source,
            record: Some(&record),
            documents: &One,
        };
        let export = Export::new(Utc.with_ymd_and_hms(2024, 2, 3, 4, 5, 6).unwrap(), "Tabularium");
        let begun = Instant::now();
        let (_, export) = made(&reader, export, &[part], Form::Document, || Cursor::new(Vec::new()));
        assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
        if let Ok(export) = export {
            assert!(export.failed.len() <= 1);
            assert_eq!(export.resources, record.len());
        }
    }
}
