//! `tabularium plans load`: turns CMS's files into tables beside the lake.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::open::failure;
use crate::cli::terminal::columns::grouped;
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::files_only;
use crate::lake::store::image::refuse_restoring;
use crate::plans::{Folder, load};
use crate::published::Shrink;

/// Put tables of Medicare Advantage plans beside the lake
///
/// Takes CSV files as CMS publishes them and recognises them by their headings: the Landscape (of all plans from 2025
/// on; before, of Medicare Advantage, of special needs plans and of plans with Part D), CPSC_Contract_Info,
/// MA_Contract_directory and MA_Cnty_SA; and folders and ZIP archives of these. Files that are parts of one Landscape,
/// such as A to M and N to W, are given together.
///
/// A publication replaces the earlier one of the same year. If more than a tenth of the plans are missing from it, it
/// is refused, because a file may be cut off or missing; --replace takes it. A running server uses new tables within
/// two seconds.
///
/// Exit codes: 0 loaded; 2 bad input, nothing loaded; 1 another failure.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The calendar year of the plans, if neither the files nor their names tell it
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(2000..2100))]
    year: Option<i32>,
    /// Replace a table even if more than a tenth of its plans are missing from the new one
    #[arg(long)]
    replace: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Files, folders or ZIP archives; not standard input, because names of files tell years
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Loads the files and prints what was loaded.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    files_only(&arguments.files)?;
    refuse_restoring(&arguments.data).map_err(Failure::from_lake)?;
    let loaded = load(&arguments.files, arguments.year).map_err(failure)?;
    let shrink = if arguments.replace {
        Shrink::Taken
    } else {
        Shrink::Refused
    };
    let stored = Folder::new(&arguments.data).store(&loaded, shrink).map_err(failure)?;
    if arguments.json {
        let tables = stored.iter().map(|entry| {
            json!({"year": entry.year, "publication": entry.publication, "plans": entry.plans, "areas": entry.areas,
                   "sources": entry.sources})
        });
        println!("{:#}", json!({"tables": tables.collect::<Vec<Value>>()}));
        return Ok(());
    }
    for entry in &stored {
        let rows = entry.publication.rows();
        let rows = if entry.plans == 1 {
            rows.trim_end_matches('s')
        } else {
            rows
        };
        println!(
            "{} {}: {} {rows} from {}",
            entry.year,
            entry.publication,
            grouped(entry.plans),
            entry.sources.join(", ")
        );
    }
    Ok(())
}
