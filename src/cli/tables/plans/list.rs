//! `tabularium plans list`: lists the tables of plans beside the lake.

use std::path::PathBuf;

use super::open::failure;
use crate::cli::lake::info::bytes;
use crate::cli::terminal::columns::listed;
use crate::cli::terminal::failure::Failure;
use crate::plans::Folder;

/// List the tables of plans beside the lake
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Prints the list, as a table or as JSON.
pub(super) fn run(arguments: &Args) -> Result<(), Failure> {
    let list = Folder::new(&arguments.data).list().map_err(failure)?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&list).map_err(Failure::other)?);
        return Ok(());
    }
    let rows: Vec<[String; 6]> = list
        .tables
        .iter()
        .map(|entry| {
            [
                entry.year.to_string(),
                entry.publication.to_string(),
                entry.plans.to_string(),
                entry.areas.to_string(),
                bytes(entry.bytes),
                entry.loaded.clone(),
            ]
        })
        .collect();
    print!(
        "{}",
        listed(["year", "publication", "plans", "areas", "bytes", "loaded"], &rows)
    );
    Ok(())
}
