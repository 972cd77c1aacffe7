//! What the process that reads attachments has: a filter of system calls, limits, and no environment.

use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tabularium::patient::pdf::apart::Bounds;
use tabularium::patient::pdf::{Attached, Documents, FetchError, Form, Reader};

use super::{Own, drawn, letter, of, record};
use crate::harness::command::PROGRAM;
use crate::pdf::reading::assert_in_order;

/// Looks at the process that asks for a document, while it waits: at its state with its limits, and at its environment.
struct Looking(Own, Mutex<Vec<(String, String)>>);

impl Documents for Looking {
    fn get(&self, _: &str, _: u64) -> Result<Attached, FetchError> {
        for id in self.0.processes() {
            let read = |name: &str| std::fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
            let mut seen = self.1.lock().unwrap();
            seen.push((format!("{}{}", read("status"), read("limits")), read("environ")));
        }
        Err(FetchError::NotHeld)
    }
}

#[test]
fn the_process_is_filtered_and_limited_and_knows_no_environment() {
    let attachment = json!({"attachment": {"url": "Binary/b"}});
    let document = json!({"resourceType": "DocumentReference", "id": "d", "content": [attachment]});
    let looking = Looking(Own::new(), Mutex::default());
    let (_, export) = drawn(&looking.0.reader, &of(vec![document]), &looking, Form::Document).unwrap();
    assert_eq!(export.failed, Vec::<String>::new());
    let seen = looking.1.into_inner().unwrap();
    assert_eq!(seen.len(), 1);
    for (status, environment) in seen {
        assert!(status.contains("\nSeccomp:\t2\n"), "{status}");
        assert!(status.contains("\nNoNewPrivs:\t1\n"), "{status}");
        let limit = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!(limit("Max core file size"), "0");
        assert_eq!(limit("Max file size"), "0");
        assert!(limit("Max cpu time").parse::<u64>().is_ok(), "{status}");
        let line = status.lines().find(|line| line.starts_with("Max cpu time")).unwrap();
        assert!(
            !line.contains("unlimited"),
            "a process that ignores a signal has no limit: {line}"
        );
        assert!(limit("Max address space").parse::<u64>().is_ok(), "{status}");
        assert!(
            !environment.contains("TABULARIUM") && !environment.contains("PATH"),
            "{environment}"
        );
    }
}

/// A limit of processor time that the process ignores ends it all the same.
#[test]
fn a_process_that_ignores_its_limit_ends() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("deaf");
    let script = format!("#!/bin/sh\ntrap '' XCPU\nexec '{}' \"$@\"\n", PROGRAM);
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let bounds = Bounds {
        attachment: Duration::from_secs(1),
        attachments: Duration::from_secs(1),
        records: Duration::from_secs(1),
        ..Bounds::default()
    };
    let long = "A line of words, and more.\n".repeat(400_000).into_bytes();
    let record = record(&[("Endless", "text/plain", long), letter("last")]);
    let (file, _) = drawn(&Reader { program, bounds }, &record, &(), Form::Document).unwrap();
    assert_in_order(
        &file,
        &[
            "seventy",
            "Endless",
            "it takes too much processor time",
            "What is missing",
        ],
    );
}
