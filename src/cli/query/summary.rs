//! `tabularium summary`: writes a patient's International Patient Summary, like the server's `$summary`.

use super::super::terminal::failure::Failure;
use super::record::{Opened, RecordArgs, failure};
use crate::consent::Store;
use crate::fhir::nearest::did_you_mean;
use crate::patient::PatientError;
use crate::patient::pdf::{Stop, rendering};
use crate::patient::summary::{Asked, Directory, Sections, Subject, summary};
use crate::search::Handling;
use crate::search::raw::RawParameter;

/// Write a patient's International Patient Summary
///
/// The summary is a FHIR document with the clinically relevant records: allergies, medication, problems, immunizations,
/// procedures, results, vital signs and more. Each section is a table for people and resources for programs. A PDF of
/// the whole is attached.
///
/// Exit codes: 0 written; 2 there is no such Patient, or an option cannot be understood; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    record: RecordArgs,
    /// Only these sections, by alias (allergies) or code (48765-2); the others are withheld
    #[arg(long = "section", value_name = "SECTION", value_delimiter = ',')]
    sections: Vec<String>,
    /// Print the Bundle as programs get it: on a terminal, too, without line breaks
    #[arg(long)]
    json: bool,
}

/// Writes the summary as a Bundle.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let sections = arguments
        .sections
        .iter()
        .map(|name| RawParameter::named("_section", name));
    let asked = Asked::parse(&sections.collect::<Vec<_>>(), Handling::Strict).map_err(refused)?;
    let opened = arguments.record.open(None)?;
    let Opened { engine, store, .. } = &opened;
    let subject = Subject {
        scope: &opened.scope,
        patients: &opened.patients,
        now: opened.now,
        base_url: &opened.base_url,
        directory: &Endpoints(store.as_ref()),
    };
    let made = opened.runtime.block_on(summary(engine, subject, asked.sections));
    let made = made.map_err(failure)?;
    let drawn = rendering(&made, Stop::default()).map_err(Failure::other)?;
    let bundle = made.bundle(Some(&drawn));
    arguments.record.write_json([Ok(bundle)], arguments.json)
}

/// Converts the error of a refused `--section`. The message suggests a similar section.
fn refused(error: PatientError) -> Failure {
    let meant = match &error {
        PatientError::Value { value, .. } => did_you_mean(value, Sections::names().map(|(alias, _)| alias)),
        _ => String::new(),
    };
    let failure = failure(error);
    Failure::input(format!("{}{meant}", failure.to_text()))
}

/// The directory from which the summary takes the names of sources. It has no names if the data folder has no service
/// store (`None`).
struct Endpoints<'s>(Option<&'s Store>);

impl std::fmt::Debug for Endpoints<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Endpoints(..)")
    }
}

impl Directory for Endpoints<'_> {
    fn name(&self, endpoint: &str) -> Option<String> {
        let found = self.0?.endpoints().get(endpoint).ok()??;
        found.label.into_iter().next()
    }
}
