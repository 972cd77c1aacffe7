//! `tabularium import`: imports records from files into a lake.

use std::path::PathBuf;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};

use super::super::tables::normalize::{knowledge, rules, rules_object, table as rules_table};
use super::super::terminal::columns::{grouped, tallied};
use super::super::terminal::failure::Failure;
use super::super::terminal::input::{Kept, is_standard};
use super::super::terminal::manner::is_watched;
use super::lake_key;
use super::wait::Wait;
use crate::consent::{Clock, Store};
use crate::ingest::{self, IngestError, LOCAL_APPLICATION, Options, REFUSALS_KEPT, Summary};
use crate::lake::{LakeOptions, Mode};
use crate::maintenance::Before;

/// Import records: NDJSON (plain or gzip), Bundles, single resources, and folders of these
///
/// The kind of a file is found by its content. Of a folder, all JSON files that are not hidden are read, in the order
/// of their paths. A Bundle of any type stands for its entries. Resources keep their ids. A resource with a known type
/// and id becomes its next version; unchanged content is not written again. References inside a Bundle (urn:uuid:...)
/// and conditional references (Practitioner?identifier=system|value) are resolved against the whole input and earlier
/// imports.
///
/// An import is one snapshot: readers see all of it or, if it fails or is killed, nothing. A resource is refused if it
/// is not JSON, if its resourceType is missing or unknown, or if its id is invalid. It is named on standard error, and
/// the import continues.
///
/// A folder with other files than those of a lake is refused. If nothing could be stored, no new lake is left behind.
///
/// Exit codes: 0 all stored; 3 something was refused and the rest is stored, or there was nothing to store; 2 a path
/// cannot be read completely, nothing stored; 1 another failure, for example another process writes the lake, nothing
/// stored.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tabularium import --data lake records/")]
pub(in crate::cli) struct Args {
    /// The data folder; made if it does not exist
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Store as live or as test records
    #[arg(long, value_enum, default_value_t = ModeArgument::Live)]
    mode: ModeArgument,
    /// The application that the records belong to
    #[arg(long, value_name = "ID", default_value = LOCAL_APPLICATION, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    application: String,
    /// Give resources new ids (UUIDs with the number of their person), as a sync does, and rewrite references to match
    ///
    /// The input is read twice. Conditional references are resolved within the input only.
    #[arg(long)]
    rewrite_ids: bool,
    /// Apply the rules of normalization, as a sync does: MedicationRequest, Encounter, Condition, Procedure and
    /// InsurancePlan from claims, canonical systems, codes and displays, references, required elements
    ///
    /// The records of one patient are one unit. Records that do not fit into memory wait in a temporary file in the
    /// data folder until the whole input is read.
    #[arg(long)]
    normalize: bool,
    /// Make the new lake a sealed one: each file is encrypted under its own key
    ///
    /// Only the first import can do that: an open lake that has records is refused. docs/sealed.md says how to give the
    /// key that wraps the keys of files.
    #[arg(long)]
    sealed: bool,
    #[command(flatten)]
    wait: Wait,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ModeArgument {
    Live,
    Test,
}

/// Imports the files, and prints the counts of each resource type, as a table or as JSON.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let Args {
        data,
        mode,
        application,
        rewrite_ids,
        normalize,
        sealed,
        wait,
        json,
        paths,
    } = arguments;
    let missing = paths.iter().find(|path| !is_standard(path) && !path.exists());
    if let Some(missing) = missing {
        return Err(Failure::input(format!("{}: no such file or folder", missing.display())));
    }
    let mode = match mode {
        ModeArgument::Live => Mode::Live,
        ModeArgument::Test => Mode::Test,
    };
    let options = LakeOptions {
        sealed: sealed.then_some(true),
        ..LakeOptions::default()
    };
    let before = Before::look(&data).map_err(Failure::from_folder)?;
    if sealed && !matches!(before, Before::Lake) {
        lake_key::check(&data)?;
    }
    let lake = wait.open_or_create(&data, &options)?;
    if lake.folder().keys().seals() && paths.iter().any(|path| is_standard(path)) {
        before.restore(&data);
        return Err(Failure::input(
            "standard input would lie on the disk in clear for a while, and nothing of a sealed lake does; name a file",
        ));
    }
    let kept = Kept::new(paths)?;
    let paths = &kept.paths;
    let normalize = normalize.then(|| knowledge(&data).map(rules)).transpose()?;
    let mut writer = wait.writer(&lake)?;
    let bar = progress_bar();
    let progress = bar.clone().map(|bar| {
        let advance: Arc<dyn Fn(u64) + Send + Sync> = Arc::new(move |bytes| bar.inc(bytes));
        advance
    });
    if let Some(bar) = &bar {
        bar.set_length(ingest::input_size(paths));
    }
    let options = Options {
        mode,
        application: application.clone(),
        rewrite_ids,
        normalize,
        progress,
        ..Default::default()
    };
    let outcome = ingest::import(&mut writer, options, paths);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let nothing = outcome.as_ref().map_or(true, |summary| {
        let total = summary.total();
        total.stored + total.unchanged == 0
    });
    if nothing {
        before.restore(&data);
    }
    drop(writer);
    if nothing {
        before.sweep(&data);
    }
    let summary = outcome.map_err(|error| match error {
        IngestError::Input { .. } | IngestError::Broken { .. } => Failure::input(error.to_string()),
        error => Failure::other(error),
    })?;
    report(&summary, (!nothing).then_some(summary.snapshot), json);
    if nothing && summary.refused == 0 {
        return Err(Failure::partial(
            "nothing was stored: there is no resource in what was read",
        ));
    }
    if nothing {
        return refused(&summary);
    }
    // Registers the application, if it is not registered yet, so that tokens can be issued for it.
    let store = Store::open(&data, Clock::System).map_err(Failure::other)?;
    store.applications().register(&application).map_err(Failure::other)?;
    refused(&summary)
}

/// Fails with exit code 3 if resources were refused. The message also says whether the other resources were stored.
fn refused(summary: &Summary) -> Result<(), Failure> {
    let total = summary.total();
    let rest = match (total.stored, total.unchanged) {
        (0, 0) => "nothing was stored",
        (0, _) => "the rest is unchanged",
        _ => "the rest is stored",
    };
    match summary.refused {
        0 => Ok(()),
        1 => Err(Failure::partial(format!("1 resource was refused; {rest}"))),
        refused => Err(Failure::partial(format!(
            "{} resources were refused; {rest}",
            grouped(refused)
        ))),
    }
}

/// Returns a progress bar if standard error is a terminal and the program is not quiet.
fn progress_bar() -> Option<ProgressBar> {
    if !is_watched() {
        return None;
    }
    let bar = ProgressBar::new(0);
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    Some(ProgressStyle::with_template(template).map_or(bar.clone(), |style| bar.with_style(style)))
}

/// Prints the refusals on standard error, and the counts on standard output. `snapshot` is `None` if no resource was
/// stored and none was unchanged.
fn report(summary: &Summary, snapshot: Option<u64>, as_json: bool) {
    for refusal in &summary.refusals {
        eprintln!("refused {refusal}");
    }
    if summary.refused > REFUSALS_KEPT as u64 {
        eprintln!("... and {} more", grouped(summary.refused - REFUSALS_KEPT as u64));
    }
    if as_json {
        println!("{:#}", object(summary, snapshot));
        return;
    }
    print!("{}", table(summary));
    if summary.left_out > 0 {
        println!(
            "{} entries of Bundles had nothing to store (deletions, searches, outcomes)",
            grouped(summary.left_out)
        );
    }
    if summary.unresolved > 0 {
        println!(
            "{} references could not be resolved and are stored as they were",
            grouped(summary.unresolved)
        );
    }
    if !summary.rules.rules.is_empty() {
        print!("{}", rules_table(&summary.rules));
    }
    if let Some(snapshot) = snapshot {
        println!("snapshot {snapshot}");
    }
}

/// Returns the counts as JSON.
fn object(summary: &Summary, snapshot: Option<u64>) -> Value {
    let counts = |counts: ingest::Counts| {
        json!({"read": counts.read, "stored": counts.stored, "unchanged": counts.unchanged, "replaced": counts.replaced,
               "refused": counts.refused})
    };
    let types = summary
        .types
        .iter()
        .map(|(name, one)| ((*name).to_owned(), counts(*one)));
    json!({
        "types": types.collect::<Map<String, Value>>(), "total": counts(summary.total()), "refused": summary.refused,
        "leftOut": summary.left_out, "unresolved": summary.unresolved, "snapshot": snapshot,
        "rules": rules_object(&summary.rules),
    })
}

fn table(summary: &Summary) -> String {
    let mut rows = Vec::new();
    let line = |name: &str, counts: ingest::Counts| {
        let ingest::Counts {
            read,
            stored,
            unchanged,
            replaced,
            refused,
        } = counts;
        let numbers = [read, stored, unchanged, replaced, refused].map(grouped);
        let [read, stored, unchanged, replaced, refused] = numbers;
        [name.to_owned(), read, stored, unchanged, replaced, refused]
    };
    rows.extend(summary.types.iter().map(|(name, counts)| line(name, *counts)));
    if summary.untyped_refused > 0 {
        let refused = summary.untyped_refused;
        rows.push(line(
            "(unknown)",
            ingest::Counts {
                read: refused,
                refused,
                ..Default::default()
            },
        ));
    }
    rows.push(line("total", summary.total()));
    tallied(["type", "read", "stored", "unchanged", "replaced", "refused"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::Counts;

    #[test]
    fn the_table_lines_up_and_adds_up() {
        let mut summary = Summary {
            untyped_refused: 2,
            ..Summary::default()
        };
        summary.types.insert(
            "Patient",
            Counts {
                read: 12,
                stored: 10,
                unchanged: 1,
                replaced: 1,
                refused: 0,
            },
        );
        summary.types.insert(
            "Observation",
            Counts {
                read: 1234,
                stored: 1234,
                ..Counts::default()
            },
        );
        assert_eq!(
            anstream::adapter::strip_str(&table(&summary)).to_string(),
            "type          read  stored  unchanged  replaced  refused\n\
             Observation  1,234   1,234          0         0        0\n\
             Patient         12      10          1         1        0\n\
             (unknown)        2       0          0         0        2\n\
             total        1,248   1,244          1         1        2\n"
        );
    }
}
