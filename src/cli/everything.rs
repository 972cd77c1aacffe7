//! `tabularium everything`: all of a patient's records as one Bundle, as the server's `$everything` gives them out page by page.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::lake_scope::{LOCAL, scope};
use super::serve;
use super::sink::{Sink, Stop};
use super::token::DEFAULT_BASE_URL;
use crate::consent::Store;
use crate::fhir::reference::is_id;
use crate::lake::{Lake, Mode};
use crate::patient::PatientError;
use crate::patient::everything::{Asked, Subject};
use crate::search::raw::RawParameter;
use crate::search::{Engine, Handling, RecordPage};

/// Write all of a patient's records, and what they refer to, as one Bundle
///
/// The Patient comes first, then the other types by name, then the Organizations, Practitioners, Medications and Locations that they refer
/// to. The Bundle is written as it is read, so a large record takes no more memory than a small one.
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
    /// Only resources of these types
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only what happened on this date or later; types without a clinical date are always in
    #[arg(long, value_name = "DATE")]
    start: Option<String>,
    /// Only what happened on this date or earlier
    #[arg(long, value_name = "DATE")]
    end: Option<String>,
    /// Only what was updated at this time or later
    #[arg(long, value_name = "INSTANT")]
    since: Option<String>,
    /// Read the live or the test records
    #[arg(long, value_name = "MODE", default_value = "live", value_parser = ["live", "test"])]
    mode: String,
    /// The application whose records to read
    #[arg(long, value_name = "ID", default_value = LOCAL)]
    application: String,
    /// Folder of further SearchParameter resources
    #[arg(long, value_name = "DIR")]
    search_parameters: Option<PathBuf>,
}

/// Writes the Bundle.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let asked = Asked::parse(&parameters(&arguments), Handling::Strict).map_err(failure)?;
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
    let engine = Engine::new(lake, serve::parameters(arguments.search_parameters.as_deref())?);
    let base = Store::last_base_url(&arguments.data).unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
    let base = format!("{}/fhir/", base.trim_end_matches('/'));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::other)?;
    let subject = Subject {
        scope: &scope,
        patients: std::slice::from_ref(&arguments.patient),
        now,
        base: &base,
    };
    let page = runtime.block_on(asked.whole(&engine, subject)).map_err(failure)?;
    write(page, arguments.out.as_deref())
}

fn write(page: RecordPage, out: Option<&Path>) -> Result<(), Failure> {
    let mut sink = Sink::at(out)?;
    let mut ended = Ok(());
    for piece in page {
        ended = sink.write(&piece.map_err(|error| failure(error.into()))?);
        if ended.is_err() {
            break;
        }
    }
    if ended.is_ok() && out.is_none() {
        ended = sink.write(b"\n");
    }
    match ended.and_then(|()| sink.finish()) {
        Ok(()) | Err(Stop::Quiet) => Ok(()),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// The options as the operation's parameters.
fn parameters(arguments: &Args) -> Vec<RawParameter> {
    let types = (!arguments.types.is_empty()).then(|| arguments.types.join(","));
    let named = [
        ("start", &arguments.start),
        ("end", &arguments.end),
        ("_since", &arguments.since),
        ("_type", &types),
    ];
    let given = named.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    given.map(|(name, value)| RawParameter::named(name, value)).collect()
}

/// Refuses to write into the data folder, whose files nothing may take the place of.
pub(super) fn keep_out(data: &Path, out: &Path) -> Result<(), Failure> {
    let folder = match out.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let whole = |path: &Path| path.canonicalize().ok();
    match whole(folder).zip(whole(data)) {
        Some((folder, data)) if folder.starts_with(&data) => Err(Failure::input(format!(
            "{} lies in the data folder; write the Bundle elsewhere",
            out.display()
        ))),
        _ => Ok(()),
    }
}

pub(super) fn failure(error: PatientError) -> Failure {
    match error.is_input() {
        true => Failure::input(error.to_string()),
        false => Failure::other(error),
    }
}
