//! `tabularium pdf`: a patient's records as pages, like the server's `$pdf`.

use std::io::Cursor;

use chrono::DateTime;

use super::super::terminal::failure::Failure;
use super::record::{RecordArgs, failure};
use crate::patient::pdf::{Export, Held, Part, Source, SourceKind, archive, document};
use crate::patient::{REFERRED, record};

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

/// Writes the document.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let opened = arguments.record.open(None)?;
    let reading = record(&opened.engine, &opened.scope, &opened.patients, &REFERRED, opened.now);
    let record = opened.runtime.block_on(reading).map_err(failure)?;
    let source = Source {
        label: "Records".to_owned(),
        name: arguments.record.patient.clone(),
        kind: SourceKind::Connected,
    };
    let held = Held {
        lake: &opened.lake,
        scope: &opened.scope,
        base: &opened.fhir_base(),
    };
    let parts = [Part {
        source: &source,
        record: Some(&record),
        documents: &held,
    }];
    let moment = DateTime::from_timestamp_micros(opened.now).unwrap_or_default();
    let draw = if arguments.zip { archive } else { document };
    let mut file = Cursor::new(Vec::new());
    let export = draw(Export::new(moment, "Tabularium"), &parts, &mut file).map_err(Failure::other)?;
    if !export.failed.is_empty() {
        super::super::terminal::failure::warn("some documents could not be shown; the last page names them");
    }
    arguments.record.write([Ok(file.into_inner())])
}
