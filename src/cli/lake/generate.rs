//! `tabularium generate`: writes a synthetic population as NDJSON.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

use super::super::terminal::columns::grouped;
use super::super::terminal::failure::Failure;
use super::super::terminal::manner::quietly;
use crate::sandbox::{FolderError, Population, write_ndjson};

/// Write a synthetic population, one NDJSON file per resource type
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The same seed and number give the same bytes on every machine, and the first people of a larger \
                        population are those of a smaller one.\n\nExample: tabularium generate --patients 50 --out population"
)]
pub(in crate::cli) struct Args {
    /// Number of people
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    patients: u64,
    /// Number that decides which people are generated
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The folder for the files, one per resource type; it must be absent or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes the population, and prints the number of resources of each type.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let population = Population::new(arguments.seed, arguments.patients);
    // The bar is drawn on standard error, and only on a terminal.
    let bar = quietly(ProgressBar::new(arguments.patients)).with_style(style());
    let written = write_ndjson(&population, &arguments.out, || bar.inc(1)).map_err(|error| match error {
        FolderError::NotEmpty(_) | FolderError::NotAFolder(_) => Failure::input(error.to_string()),
        FolderError::Io { .. } => Failure::other(error),
    })?;
    bar.finish_and_clear();
    if arguments.json {
        let counts: serde_json::Map<String, serde_json::Value> = written
            .iter()
            .map(|(name, count)| (name.to_string(), (*count).into()))
            .collect();
        println!(
            "{:#}",
            serde_json::json!({"types": counts, "total": written.values().sum::<u64>()})
        );
        return Ok(());
    }
    for (resource_type, count) in &written {
        println!("{resource_type:<22} {:>10}", grouped(*count));
    }
    println!("{:<22} {:>10}", "total", grouped(written.values().sum()));
    Ok(())
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} people, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}
