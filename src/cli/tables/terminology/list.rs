//! `tabularium terminology list`: lists the code systems beside the lake.

use std::path::PathBuf;

use super::failure;
use crate::cli::lake::info::bytes;
use crate::cli::terminal::failure::Failure;
use crate::terminology::Folder;

/// List the code systems beside the lake
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
    let mut rows = vec![["system", "version", "concepts", "bytes", "loaded"].map(str::to_owned)];
    rows.extend(list.tables.iter().map(|entry| {
        [
            entry.system.clone(),
            entry.version.clone().unwrap_or_else(|| "-".to_owned()),
            entry.concepts.to_string(),
            bytes(entry.bytes),
            entry.loaded.clone(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    if let Some(sets) = &list.value_sets {
        println!("{} value sets, {}", sets.count, bytes(sets.bytes));
    }
    Ok(())
}
