//! `tabularium pdf`: a patient's records as pages, as the server's `$pdf` gives them out.

use std::path::PathBuf;

use chrono::DateTime;

use super::everything::{failure, keep_out};
use super::failure::Failure;
use super::lake_scope::{LOCAL, scope};
use super::serve;
use super::sink::{Sink, Stop};
use crate::fhir::reference::is_id;
use crate::lake::{Lake, Mode};
use crate::patient::pdf::{Attachments, Export, Part, Source, SourceKind, archive, document};
use crate::patient::{PatientError, REFERRED, record};
use crate::search::Engine;

/// Write a patient's records as a PDF document
///
/// A cover, a section for each kind of record, and the documents that records have attached.
///
/// Exit codes: 0 written; 2 there is no such Patient, or an option cannot be understood; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The Patient's id
    #[arg(long, value_name = "ID")]
    patient: String,
    /// File to write; it takes its name when it is whole. Without it the document goes to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a ZIP archive with a document for each source
    #[arg(long)]
    zip: bool,
    /// Read the live or the test records
    #[arg(long, value_name = "MODE", default_value = "live", value_parser = ["live", "test"])]
    mode: String,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
}

/// Writes the document.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    if !is_id(&arguments.patient) {
        return Err(failure(PatientError::NoPatient(arguments.patient)));
    }
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    if let Some(out) = &arguments.out {
        keep_out(&arguments.data, out)?;
    }
    let mode = if arguments.mode == "test" {
        Mode::Test
    } else {
        Mode::Live
    };
    let scope = scope(&lake, mode, &arguments.application, Some(&arguments.patient));
    let now = lake.clock().now();
    let engine = Engine::new(lake, serve::parameters(None)?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let patients = std::slice::from_ref(&arguments.patient);
    let reading = record(&engine, &scope, patients, &REFERRED, now);
    let record = runtime.block_on(reading).map_err(failure)?;
    let source = Source {
        label: "Records".to_owned(),
        name: arguments.patient.clone(),
        kind: SourceKind::Connected,
    };
    let parts = [Part {
        source: &source,
        record: Some(&record),
    }];
    let export = Export::new(DateTime::from_timestamp_micros(now).unwrap_or_default(), "Tabularium");
    let draw = if arguments.zip { archive } else { document };
    let (_, bytes) = draw(export, &parts, &Attachments::default()).map_err(Failure::other)?;
    let mut sink = Sink::at(arguments.out.as_deref())?;
    match sink.write(&bytes).and_then(|()| sink.finish()) {
        Ok(()) | Err(Stop::Quiet) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}
