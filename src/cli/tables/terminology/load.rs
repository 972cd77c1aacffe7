//! `tabularium terminology load`: turns publishers' files into tables beside the lake.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::failure;
use crate::cli::terminal::columns::counted;
use crate::cli::terminal::failure::{Failure, warn};
use crate::cli::terminal::input::files_only;
use crate::lake::store::image::refuse_restoring;
use crate::published::Shrink;
use crate::terminology::{Folder, TableEntry, load};

/// Put code systems and value sets beside the lake
///
/// Takes files as their publishers ship them and recognises them by what is in them: ICD-10-CM and ICD-10-PCS order
/// files, the HCPCS annual file, CDC's CVX and MVX tables, FDA's NDC directory (product.txt, package.txt), RxNorm RRF
/// (RXNCONSO, with RXNSAT for NDCs and RXNREL for ingredients), LOINC CSV, SNOMED CT RF2 snapshots, NUCC CSV, CMS's
/// place-of-service table, FHIR CodeSystems, ValueSets, Bundles and packages; and folders and ZIP archives of these.
/// Files that belong together are given together.
///
/// A code system replaces the earlier one of the same URL. If it has less than nine tenths of the concepts, displays,
/// places in the hierarchy, properties or National Drug Codes, it is refused, because its file may be cut off;
/// --replace takes it. A running server uses it within two seconds.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The version of the code system, if neither the files nor their names tell it
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Replace a code system even if the new one has less than nine tenths of it
    #[arg(long)]
    replace: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Files, folders or ZIP archives; not standard input, because names of files tell versions
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Loads the files and prints what was loaded. An excerpt of a code system does not replace a complete one that was
/// loaded before. Prints a warning for each such excerpt.
pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    files_only(&arguments.files)?;
    refuse_restoring(&arguments.data).map_err(Failure::from_lake)?;
    let loaded = load::load(&arguments.files, arguments.version.as_deref()).map_err(failure)?;
    let shrink = if arguments.replace {
        Shrink::Taken
    } else {
        Shrink::Refused
    };
    let stored = Folder::new(&arguments.data).store(&loaded, shrink).map_err(failure)?;
    if arguments.json {
        let systems = stored.iter().map(|entry| {
            json!({"system": entry.system, "version": entry.version, "concepts": entry.concepts, "source": entry.source})
        });
        let object = json!({"codeSystems": systems.collect::<Vec<Value>>(), "valueSets": loaded.value_sets()});
        println!("{object:#}");
    } else {
        tell(&stored, loaded.value_sets());
    }
    for one in &loaded.systems {
        if stored.iter().all(|entry| entry.system != one.system.url()) {
            warn(&format!(
                "{}: {} has only a part of it; the whole one that is loaded is kept",
                one.system.url(),
                one.source
            ));
        }
    }
    Ok(())
}

fn tell(stored: &[TableEntry], value_sets: usize) {
    for entry in stored {
        println!(
            "{} {}: {} from {}",
            entry.system,
            entry.version.as_deref().unwrap_or("without a version"),
            counted(entry.concepts, "concept"),
            entry.source
        );
    }
    if value_sets > 0 {
        println!("{}", counted(value_sets as u64, "value set"));
    }
}
