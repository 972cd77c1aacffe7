//! `tabularium summary`: a patient's International Patient Summary, as the server's `$summary` gives it out.

use std::path::PathBuf;

use super::data_store;
use super::everything::{failure, keep_out};
use super::failure::Failure;
use super::lake_scope::{LOCAL, scope};
use super::serve;
use super::sink::{Sink, Stop};
use super::token::DEFAULT_BASE_URL;
use crate::consent::Store;
use crate::fhir::reference::is_id;
use crate::lake::{Lake, Mode};
use crate::patient::PatientError;
use crate::patient::summary::{Asked, Directory, Subject, summary};
use crate::search::raw::RawParameter;
use crate::search::{Engine, Handling};

/// Write a patient's International Patient Summary
///
/// The summary is a FHIR document of what is clinically relevant: allergies, medication, problems, immunizations,
/// procedures, results, vital signs and more, each as a table for people and as resources for programs.
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
    /// File to write; it takes its name when it is whole. Without it the Bundle goes to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only these sections, by alias (allergies) or code (48765-2); the others are withheld
    #[arg(long = "section", value_name = "SECTION", value_delimiter = ',')]
    sections: Vec<String>,
    /// Read the live or the test records
    #[arg(long, value_name = "MODE", default_value = "live", value_parser = ["live", "test"])]
    mode: String,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
}

/// Writes the Bundle.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let sections = arguments
        .sections
        .iter()
        .map(|name| RawParameter::named("_section", name));
    let asked = Asked::parse(&sections.collect::<Vec<_>>(), Handling::Strict).map_err(failure)?;
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
    let base = Store::last_base_url(&arguments.data);
    // A folder that nobody served has no store, and none is made.
    let store = base.as_ref().map(|_| data_store::open(&arguments.data)).transpose()?;
    let base = base.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let bundle = runtime.block_on(async {
        let subject = Subject {
            scope: &scope,
            patients: std::slice::from_ref(&arguments.patient),
            now,
            base_url: base.trim_end_matches('/'),
            directory: &Endpoints(store),
        };
        summary(&engine, subject, asked.sections).await.map_err(failure)
    })?;
    write(&bundle.bundle(None), &arguments)
}

fn write(bundle: &[u8], arguments: &Args) -> Result<(), Failure> {
    let mut sink = Sink::at(arguments.out.as_deref())?;
    let mut written = sink.write(bundle);
    if written.is_ok() && arguments.out.is_none() {
        written = sink.write(b"\n");
    }
    match written.and_then(|()| sink.finish()) {
        Ok(()) | Err(Stop::Quiet) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// The endpoints of the folder's store, if it has one.
struct Endpoints(Option<Store>);

impl std::fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endpoints(..)")
    }
}

impl Directory for Endpoints {
    fn name(&self, endpoint: &str) -> Option<String> {
        let found = self.0.as_ref()?.endpoint(endpoint).ok()??;
        found.label.into_iter().next()
    }
}
