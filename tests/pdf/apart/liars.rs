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
use tabularium::patient::pdf::apart::{Bounds, COMMAND};
use tabularium::patient::pdf::{Attached, Documents, Export, FetchError, Form, Part, Reader, Source, made};

use super::{letter, of, record};
use crate::harness::command::PROGRAM;
use crate::harness::kills::{chance, rounds};

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

/// Speaks for the real program and changes what it says. The variable `LIAR` is a seed: it decides which byte is
/// changed, or whether the process says something else, says nothing, or ends.
#[test]
#[ignore = "is started by other tests"]
fn liar() {
    let Ok(seed) = std::env::var("LIAR") else { return };
    let mut chance = ChaCha8Rng::seed_from_u64(seed.parse().unwrap());
    let starter = File::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
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

#[test]
fn whatever_a_process_says_the_request_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut chance = chance(413);
    for _ in 0..rounds(6) {
        let reader = lying(folder.path(), &chance.random_range(0..1_000_000_u64).to_string());
        let mut record = record(&[letter("one"), letter("two")]);
        let by_address =
            json!({"resourceType": "DocumentReference", "id": "u", "content": [{"attachment": {"url": "Binary/b"}}]});
        record.types.extend(of(vec![by_address]).types.into_iter().skip(1));
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
