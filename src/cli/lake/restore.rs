//! `tabularium restore`: restores a data folder from a backup.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::terminal::failure::{Failure, warn};
use super::backup::{failed, rules};
use super::info::bytes;
use crate::backup::{self, BackupFolder, Restoring};

/// Restore a backup into an empty folder
///
/// Every file is checked against its SHA-256, and people who were erased since the backup are erased again, before the
/// lake appears in the folder. The ledger of erasures names them: --erasures, else the file that TABULARIUM_ERASURES
/// names, else DIR.erasures beside the data folder. Use the ledger as it is today. Without it nothing is restored,
/// unless you give --accept-resurrection. Consents whose records were erased are revoked. If the command is killed,
/// there is no lake; give the same command again.
///
/// A snapshot of a sealed lake needs the lake's keys (--keys). Files whose keys were destroyed by a later erasure
/// cannot be read, and other people's records in them are lost as well. Then nothing is restored, unless you give
/// --accept-loss.
///
/// Exit codes: 0 done; 2 the folder is not empty, there is no such snapshot, or the ledger or keys are missing; 3 the
/// backup is damaged, nothing was restored; or it was restored, and bytes of erased people may be left where it says; 1
/// another failure.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The folder of backups
    #[arg(long, value_name = "BACKUPS")]
    from: PathBuf,
    /// The data folder, which is made or is empty
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    data: Option<PathBuf>,
    /// The snapshot [default: the newest]
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
    /// The ledger of erasures
    #[arg(long, value_name = "FILE")]
    erasures: Option<PathBuf>,
    /// Restore without the ledger: people who were erased since the backup come back
    #[arg(long)]
    accept_resurrection: bool,
    /// The keys of a sealed lake: its keys.sqlite, or a copy of it, which stays as it is
    ///
    /// The restored lake gets the keys of its own files. The key that wraps them is given as for any sealed lake.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Restore the rest of a sealed lake where files cannot be read, because an erasure has destroyed their keys since
    #[arg(long)]
    accept_loss: bool,
    /// Copy every file, even on the same file system
    #[arg(long)]
    copy: bool,
    /// Only list the snapshots
    #[arg(long)]
    list: bool,
    /// Print one JSON object, or of a list a JSON array
    #[arg(long)]
    json: bool,
}

/// Restores a snapshot, or lists the snapshots.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let Some(data) = arguments.data.filter(|_| !arguments.list) else {
        return list(&BackupFolder::open(&arguments.from).map_err(failed)?, arguments.json);
    };
    let options = Restoring {
        snapshot: arguments.snapshot,
        erasures: arguments.erasures,
        accept_resurrection: arguments.accept_resurrection,
        copy: arguments.copy,
        keys: arguments.keys,
        accept_loss: arguments.accept_loss,
    };
    let done = backup::restore(&arguments.from, &data, &options, &rules).map_err(failed)?;
    if arguments.json {
        let told = json!({
            "snapshot": done.id, "files": done.files, "bytes": done.bytes, "erasedAgain": done.owners,
            "accessEnded": done.ended, "withoutLedger": done.without_ledger, "left": done.left,
            "lost": {"files": done.lost.files, "rows": done.lost.rows, "attachments": done.lost.attachments},
        });
        println!("{told:#}");
    } else {
        println!(
            "restored snapshot {}: {} files of {}",
            done.id,
            done.files,
            bytes(done.bytes)
        );
    }
    if !arguments.json && done.owners + done.ended > 0 {
        println!(
            "erased again what was erased since: the records of {} people or consents, and access by {}",
            done.owners, done.ended
        );
    }
    if !done.lost.is_nothing() {
        warn(&format!("left out {} because their keys were destroyed", done.lost));
    }
    if done.without_ledger {
        warn("without the ledger of erasures, people who were erased since the backup may be back");
    }
    let left = done.left.into_iter();
    let left = left.map(|left| {
        Failure::partial(format!(
            "the records are hidden, but bytes of them may still stand in {left}; the next command that writes tries again"
        ))
    });
    Failure::all(left.collect())
}

fn list(place: &BackupFolder, as_json: bool) -> Result<(), Failure> {
    let (mut failures, mut told) = (Vec::new(), Vec::new());
    for id in place.ids().map_err(failed)? {
        match place.manifest(Some(&id)) {
            Ok(manifest) if as_json => told.push(json!({
                "snapshot": id, "files": manifest.files.len(), "bytes": manifest.bytes(),
                "lakeSnapshot": manifest.snapshot,
            })),
            Ok(manifest) => println!(
                "{id}  {} files of {}, snapshot {} of the lake",
                manifest.files.len(),
                bytes(manifest.bytes()),
                manifest.snapshot
            ),
            Err(error) => failures.push(failed(error)),
        }
    }
    if as_json {
        println!("{:#}", Value::from(told));
    }
    Failure::all(failures)
}
