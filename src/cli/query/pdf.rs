//! `tabularium pdf`: writes a patient's records as a PDF document, like the server's `$pdf`.

use std::io::Cursor;

use chrono::DateTime;

use super::super::terminal::failure::Failure;
use super::record::{Opened, RecordArgs, failure};
use crate::http::source_of_patient;
use crate::lake::Scope;
use crate::patient::Record;
use crate::patient::pdf::{Export, Form, Held, Part, Reader, Source, gather, made};

/// Write a patient's records as a PDF document
///
/// A cover, a section for each kind of record, and the documents that records have attached.
///
/// Exit codes: 0 written; 2 there is no such Patient, or an option cannot be understood; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    record: RecordArgs,
    /// Write a ZIP archive with a document for each source
    #[arg(long)]
    zip: bool,
}

/// Writes the PDF document, or the ZIP archive with `--zip`.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let what = if arguments.zip {
        "A ZIP archive"
    } else {
        "A PDF document"
    };
    arguments.record.refuse_on_terminal(what)?;
    let opened = arguments.record.open(None)?;
    let base = opened.fhir_base();
    let reading = gather(&opened.engine, &opened.scope, &opened.patients, &base, opened.now);
    let record = opened.runtime.block_on(reading).map_err(failure)?;
    let source = source(&opened, &arguments.record.patient, &record)?;
    let held = Held {
        lake: &opened.lake,
        scope: &opened.scope,
        base: &base,
    };
    let parts = [Part {
        source: &source,
        record: Some(&record),
        documents: &held,
    }];
    let moment = DateTime::from_timestamp_micros(opened.now).unwrap_or_default();
    let form = if arguments.zip { Form::Archive } else { Form::Document };
    let export = Export::new(moment, "Tabularium").with_base(&base);
    let (file, export) = made(&Reader::default(), export, &parts, form, || Cursor::new(Vec::new()));
    let export = export.map_err(Failure::other)?;
    if !export.failed.is_empty() {
        super::super::terminal::failure::warn("some documents could not be shown; the last page names them");
    }
    arguments.record.write([Ok(file.into_inner())], b"")
}

/// Returns the source of the records, with the name that the server shows for it. If the folder was never served,
/// `opened.store` is `None`. Then the folder has no consents, so the records count as imported.
fn source(opened: &Opened, patient: &str, record: &Record) -> Result<Source, Failure> {
    let Some(store) = &opened.store else {
        return Ok(Source::imported());
    };
    let Scope { application, mode, .. } = &*opened.scope;
    let resource = record.get("Patient", patient).map(|row| &*row.resource);
    source_of_patient(store, application, *mode, patient, resource).map_err(Failure::other)
}
