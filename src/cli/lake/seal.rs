//! `tabularium seal` and `unseal`: convert an open lake to a sealed one, and back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::json;

use super::super::terminal::failure::Failure;
use super::super::terminal::manner::quietly;
use super::info::bytes;
use super::wait::Wait;
use crate::lake::seal::{KeyStore, Kind};
use crate::lake::{Conversion, Converted, KekSource, Lake, LakeError};
use crate::maintenance::{ConvertError, convert};

/// Seal an open lake: encrypt each of its files under a key of its own, while it is served
///
/// Every data file, delete file and attachment of all snapshots is replaced by an encrypted one. docs/sealed.md says
/// how to give the key that wraps the files' keys. A server that runs meanwhile needs that key: start it with
/// --key-file, --key-command or TABULARIUM_LAKE_KEY before. Reading, searching and page links keep working; imports and
/// syncs write between two steps.
///
/// If the command is interrupted, the lake is complete, with files of both kinds. Give the same command again to
/// finish, or `tabularium unseal` to go back. Earlier copies and backups are not encrypted.
///
/// Exit codes: 0 sealed; 2 there is no lake, or no key; 3 some files stay unencrypted, which it names, because they
/// cannot be read; 1 another failure, for example a full disk: nothing is lost.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct SealArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Unseal a sealed lake: write each of its files in clear, while it is served, and destroy its keys
///
/// This reverses `tabularium seal`, and is as safe to interrupt. At the end keys.sqlite is overwritten and removed.
/// Backups of the sealed lake cannot be read without a copy of that file.
///
/// Exit codes: 0 done; 2 there is no lake, its keys cannot be opened, or copies of keys.sqlite are registered; 3 some
/// files stay sealed, which it names; 1 another failure, for example a full disk: nothing is lost.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct UnsealArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Seals a lake.
pub(in crate::cli) fn seal(arguments: SealArgs) -> Result<(), Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    if lake.kind() == Kind::Open {
        let kek = KekSource::default().load();
        kek.map_err(|error| Failure::input(format!("nothing was sealed: {error}")))?;
    }
    let done = converted(&lake, Kind::Sealed, arguments.wait)?;
    told(&arguments.data, &lake, done, Kind::Sealed, arguments.json)
}

/// Unseals a lake.
pub(in crate::cli) fn unseal(arguments: UnsealArgs) -> Result<(), Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    if lake.kind() == Kind::Sealed {
        refuse_copies(&arguments.data)?;
    }
    let done = converted(&lake, Kind::Open, arguments.wait)?;
    told(&arguments.data, &lake, done, Kind::Open, arguments.json)
}

/// Fails if copies of `keys.sqlite` are registered, because erasures in the unsealed lake would not destroy keys in the
/// copies.
fn refuse_copies(data: &Path) -> Result<(), Failure> {
    let copies = KeyStore::copies(data).map_err(|error| Failure::input(error.to_string()))?;
    let paths: Vec<String> = copies.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "nothing was unsealed: copies of keys.sqlite are registered, and no erasure would change them afterwards; take them off the list with `tabularium keys forget`: {}",
        paths.join(", ")
    )))
}

/// Converts a lake to an open or a sealed one, as `goal` says. Shows the number of written bytes meanwhile.
fn converted(lake: &Lake, goal: Kind, wait: Wait) -> Result<Converted, Failure> {
    let (conversion, verb) = match goal {
        Kind::Sealed => (Conversion::to_sealed(), "sealed"),
        _ => (Conversion::to_open(), "unsealed"),
    };
    let bar = quietly(ProgressBar::new_spinner());
    bar.enable_steady_tick(Duration::from_millis(100));
    let progress = |done: &Converted| bar.set_message(format!("{} written", bytes(done.bytes)));
    let done = convert(conversion, || wait.writer(lake), progress).map_err(|error| match error {
        ConvertError::Writer(failure) => failure,
        // The text of `LakeError::Keys` says that the lake is sealed. This is wrong if `seal` has not sealed it yet. So
        // the message has only the error's source.
        ConvertError::Step(LakeError::Keys { source, .. }) if source.is_of_input() => {
            Failure::input(format!("nothing was {verb}: {source}"))
        }
        ConvertError::Step(LakeError::Keys { source, .. }) => Failure::other(format!("nothing was {verb}: {source}")),
        ConvertError::Step(error) => Failure::other(format!(
            "{error}; nothing is lost, and the same command goes on from here"
        )),
    })?;
    bar.finish_and_clear();
    Ok(done)
}

fn told(data: &Path, lake: &Lake, done: Converted, goal: Kind, as_json: bool) -> Result<(), Failure> {
    let (kind, other) = match goal {
        Kind::Sealed => ("sealed", "in clear"),
        _ => ("open", "sealed"),
    };
    let (files, attachments) = (done.files, done.attachments);
    let is_done = lake.kind() == goal;
    if as_json {
        let object = json!({
            "files": files, "attachments": attachments, "bytes": done.bytes, "kind": kind, "done": is_done,
            "left": done.left,
        });
        println!("{object:#}");
    } else if files + attachments > 0 {
        println!(
            "{files} data files and {attachments} attachments were written anew, {}",
            bytes(done.bytes)
        );
    }
    if is_done && !as_json {
        println!("the lake at {} is {kind}", data.display());
    }
    let half = if is_done {
        String::new()
    } else {
        format!("the lake is not {kind} yet, and the same command goes on when this is mended: ")
    };
    let left = done.left.into_iter();
    let left = left.map(|left| Failure::partial(format!("{half}{other} is still {left}")));
    Failure::all(left.collect())
}
