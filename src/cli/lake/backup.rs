//! `tabularium backup`: copies a data folder while it is served, and checks earlier copies.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::super::tables::normalize::rules_in;
use super::super::terminal::failure::{Failure, warn};
use super::info::bytes;
use crate::backup::{self, Backed, BackupError, Options};
use crate::ingest::Normalization;

/// Back up a data folder, while it is served, to another folder
///
/// Each backup is a snapshot: the lake with its catalog and attachments, the service's store, archived audit lines, and
/// loaded terminology and plans. Snapshots in one folder share files, so a further one takes only the space and time of
/// the changes. New files are checked against their checksums; files of earlier snapshots are not read again. On the
/// same file system a file gets a second name instead of a copy. That protects it from being deleted, but not from a
/// broken disk; --copy copies it.
///
/// The first backup makes the ledger of erasures: DIR.erasures beside the data folder, or the file that
/// TABULARIUM_ERASURES names, for servers and commands alike. From then on every erasure is entered there, as hashes.
/// Keep it apart from the backups and do not put it back with them: `tabularium restore` needs it as it is today. What
/// was erased since the last backup leaves all snapshots with the next one.
///
/// Exit codes: 0 done; 2 there is no lake, or the folder is none for backups; 3 something is damaged, or bytes of
/// erased people may be left in snapshots, which it names; 1 another failure. Whatever fails, earlier snapshots stay as
/// they were.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The data folder
    #[arg(long, value_name = "DIR", required_unless_present = "verify")]
    data: Option<PathBuf>,
    /// The folder of backups
    #[arg(long, value_name = "BACKUPS")]
    to: PathBuf,
    /// Keep the newest N snapshots and remove older ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// Copy every new file, even on the same file system
    #[arg(long)]
    copy: bool,
    /// Leave out service.key, the key to the secrets in the service's store
    #[arg(long)]
    without_key: bool,
    /// Check all files of all snapshots against their SHA-256. Without --data nothing else is done
    #[arg(long)]
    verify: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes a backup if `--data` is given, and checks all snapshots if `--verify` is given.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let (mut failures, mut told) = (Vec::new(), Map::new());
    if let Some(data) = &arguments.data {
        let options = Options {
            keep: arguments.keep.map(|keep| keep as usize),
            copy: arguments.copy,
            without_key: arguments.without_key,
        };
        let done = backup::backup(data, &arguments.to, options, &rules).map_err(failed)?;
        if arguments.json {
            drop(told.insert("backup".to_owned(), object(&done)));
        } else {
            tell(&done);
        }
        failures.extend(left(done));
    }
    if arguments.verify {
        let begun = Instant::now();
        let verified = backup::verify(&arguments.to).map_err(failed)?;
        if arguments.json {
            let verified = json!({
                "snapshots": verified.snapshots, "files": verified.files, "bytes": verified.bytes,
                "problems": verified.problems,
            });
            told.insert("verified".to_owned(), verified);
        } else {
            println!(
                "{} snapshots, {} files of {} read in {:.1} s",
                verified.snapshots,
                verified.files,
                bytes(verified.bytes),
                begun.elapsed().as_secs_f64()
            );
        }
        failures.extend(verified.problems.into_iter().map(Failure::partial));
    }
    if arguments.json {
        println!("{:#}", Value::from(told));
    }
    Failure::all(failures)
}

fn object(done: &Backed) -> Value {
    json!({
        "snapshot": done.id, "files": done.files, "bytes": done.bytes, "added": done.added,
        "addedBytes": done.added_bytes, "removed": done.removed, "cleaned": done.cleaned.snapshots,
    })
}

fn tell(done: &Backed) {
    println!(
        "snapshot {}: {} files of {}, {} of them new ({})",
        done.id,
        done.files,
        bytes(done.bytes),
        done.added,
        bytes(done.added_bytes)
    );
    if done.removed > 0 {
        println!("{} older snapshots were removed", done.removed);
    }
    if done.cleaned.snapshots > 0 {
        println!(
            "what was erased since was taken out of {} snapshots",
            done.cleaned.snapshots
        );
    }
}

/// Warns of snapshots whose later erasures are unknown. Returns a failure for each unreadable snapshot, and for each
/// place that may still hold erased bytes.
fn left(done: Backed) -> impl Iterator<Item = Failure> {
    if let Some(path) = &done.new_ledger {
        warn(&format!(
            "the ledger of erasures of the earlier backups is lost, and from now on erasures are entered in {}, which has none of the earlier ones",
            path.display()
        ));
    }
    for id in &done.cleaned.unknown {
        warn(&format!(
            "nobody knows what was erased since snapshot {id}, because its ledger of erasures is not the one that is there: it can only be restored with --accept-resurrection; --keep removes it in time"
        ));
    }
    let left = done.cleaned.left.into_iter();
    let left =
        left.map(|left| format!("bytes of erased records may still stand in {left}; the next backup tries again"));
    done.cleaned.damaged.into_iter().chain(left).map(Failure::partial)
}

/// Reads the normalization rules of a data folder. The error is a message for the user.
pub(in crate::cli) fn rules(data: &Path) -> Result<Normalization, String> {
    rules_in(data).map_err(|failure| failure.to_text())
}

/// Converts the error to a failure. Its exit code is 2 for bad input, 3 for damaged files and 1 for other errors.
pub(in crate::cli) fn failed(error: BackupError) -> Failure {
    match error {
        error if error.is_of_input() => Failure::input(error.to_string()),
        error if error.is_of_damage() => Failure::partial(error.to_string()),
        error => Failure::other(error),
    }
}
