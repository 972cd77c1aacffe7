//! `tabularium everything`: writes all of a patient's records as one Bundle. The server's `$everything` returns them
//! page by page.

use std::path::PathBuf;

use super::super::terminal::failure::Failure;
use super::record::{RecordArgs, failure};
use crate::patient::everything::{Asked, Subject};
use crate::search::Handling;
use crate::search::raw::RawParameter;

/// Write all of a patient's records, and what they refer to, as one Bundle
///
/// The Patient comes first, then the other types by name, then the Organizations, Practitioners, Medications and
/// Locations that they refer to. The Bundle is written as it is read, so a large record takes no more memory than a
/// small one.
///
/// Exit codes: 0 written; 2 there is no such Patient, or an option cannot be understood; 1 another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    record: RecordArgs,
    /// Only resources of these types
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only records of this date or later; types without a clinical date are always included
    #[arg(long, value_name = "DATE")]
    start: Option<String>,
    /// Only records of this date or earlier
    #[arg(long, value_name = "DATE")]
    end: Option<String>,
    /// Only records that were updated at this time or later
    #[arg(long, value_name = "INSTANT")]
    since: Option<String>,
    /// Folder of SearchParameter resources to use beside FHIR's own
    #[arg(long, value_name = "DIR")]
    search_parameters: Option<PathBuf>,
    /// Print the Bundle as programs get it: on a terminal, too, without line breaks
    #[arg(long)]
    json: bool,
}

/// Writes the Bundle.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let asked = Asked::parse(&parameters(&arguments), Handling::Strict).map_err(failure)?;
    let opened = arguments.record.open(arguments.search_parameters.as_deref())?;
    let base = opened.fhir_base();
    let subject = Subject {
        scope: &opened.scope,
        patients: &opened.patients,
        now: opened.now,
        base: &base,
    };
    let page = opened
        .runtime
        .block_on(asked.whole(&opened.engine, subject))
        .map_err(failure)?;
    let pieces = page.map(|piece| piece.map_err(|error| failure(error.into())));
    arguments.record.write_json(pieces, arguments.json)
}

/// Converts the options to parameters of the operation `$everything`.
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
