//! Attachments are read in a process of their own: whatever they do to it, the file is complete, with placeholders.

mod bounds;
mod confined;
mod hostile;
mod liars;
mod moments;
mod short;

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{TimeZone, Utc};
use serde_json::json;
use tabularium::fhir::facts;
use tabularium::lake::scan::Row;
use tabularium::patient::Record;
use tabularium::patient::pdf::apart::Bounds;
use tabularium::patient::pdf::{Documents, Export, Form, Part, PdfError, Reader, Source, made};
use tabularium::search::Gathered;

use crate::harness::command::PROGRAM;

/// The program as its own reader.
fn reader() -> Reader {
    Reader {
        program: PROGRAM.into(),
        bounds: Bounds::default(),
    }
}

/// An attachment: its title, its media type and its bytes.
type File<'f> = (&'f str, &'f str, Vec<u8>);

/// A record with a Patient, an Observation and these attachments, one DocumentReference for each.
fn record(files: &[File<'_>]) -> Record {
    let attached = |(at, (title, content_type, bytes)): (usize, &File<'_>)| {
        let attachment = json!({"contentType": content_type, "title": title, "data": STANDARD.encode(bytes)});
        json!({"resourceType": "DocumentReference", "id": format!("d{at}"), "content": [{"attachment": attachment}]})
    };
    of(files.iter().enumerate().map(attached).collect())
}

/// A record with a Patient, an Observation and these DocumentReferences.
fn of(documents: Vec<serde_json::Value>) -> Record {
    let gathered = |name: &str, resources: Vec<serde_json::Value>| Gathered {
        type_id: facts().lookup(name).unwrap(),
        is_referred: false,
        rows: resources
            .iter()
            .map(|resource| Row {
                id: resource["id"].as_str().unwrap().to_owned(),
                resource: resource.to_string().into(),
                version: 1,
                last_updated: 0,
            })
            .collect(),
    };
    let weight = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "Body weight"},
        "valueString": "seventy"});
    Record {
        snapshot: 1,
        types: vec![
            gathered(
                "Patient",
                vec![json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Ann"}]})],
            ),
            gathered("DocumentReference", documents),
            gathered("Observation", vec![weight]),
        ],
    }
}

/// The file of a record, and the result of the export.
fn drawn(
    reader: &Reader,
    record: &Record,
    documents: &dyn Documents,
    form: Form,
) -> Result<(Vec<u8>, Export), PdfError> {
    let source = Source::imported();
    let part = Part {
        source: &source,
        record: Some(record),
        documents,
    };
    let export = Export::new(Utc.with_ymd_and_hms(2024, 2, 3, 4, 5, 6).unwrap(), "Tabularium");
    let (file, export) = made(reader, export, &[part], form, || Cursor::new(Vec::new()));
    Ok((file.into_inner(), export?))
}

/// The document of these attachments, made by the program.
fn document(files: &[File<'_>]) -> (Vec<u8>, Export) {
    drawn(&reader(), &record(files), &(), Form::Document).unwrap()
}

/// The program under a name of its own, so that a test finds its own processes beside those of other tests.
struct Own {
    reader: Reader,
    _folder: tempfile::TempDir,
}

impl Own {
    fn new() -> Own {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let program = folder.path().join("tabularium");
        // The program is large, so it gets a second name and not a copy, where the file system has such names.
        if std::fs::hard_link(PROGRAM, &program).is_err() {
            std::fs::copy(PROGRAM, &program).unwrap();
        }
        let reader = Reader { program, ..reader() };
        Own {
            reader,
            _folder: folder,
        }
    }

    fn bounded(bounds: Bounds) -> Own {
        let mut own = Own::new();
        own.reader.bounds = bounds;
        own
    }

    /// The ids of the processes that read attachments.
    fn processes(&self) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_ours = |id: &u32| {
            std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|program| program == self.reader.program)
        };
        ids.filter(is_ours).collect()
    }
}

/// A text file that is easily found in the pages.
fn letter(title: &str) -> File<'_> {
    (title, "text/plain", format!("The contents of {title}.").into_bytes())
}
