//! `keys copy`, `keys copies` and `keys forget`: registered copies of a sealed lake's `keys.sqlite`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::data_store::open;
use super::command::of_keys;
use crate::backup::BackupFolder;
use crate::cli::lake::wait::Wait;
use crate::cli::terminal::failure::Failure;
use crate::lake::seal::{KeyStore, Kind};
use crate::lake::store::image::is_sealed;
use crate::lake::{Lake, LakeError};

/// Copy keys.sqlite of a sealed lake, and register the copy
///
/// Every erasure destroys its keys in each registered copy, and gives the copy the keys that were made since. While a
/// copy cannot be written, an erasure gets no receipt: mend the file, or give `tabularium keys forget`. The file must
/// not exist yet, unless it is a registered copy, which is written again. It may not lie in the data folder or in a
/// folder of backups. Keep it apart from both, and from the key-encryption key.
///
/// Exit codes: 0 copied; 2 the lake is not sealed, or the file cannot be used; 1 another failure: earlier copies stay
/// as they were.
#[derive(Debug, clap::Args)]
pub(super) struct CopyArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The file of the copy
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// List the registered copies of keys.sqlite
#[derive(Debug, clap::Args)]
pub(super) struct CopiesArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Take a copy of keys.sqlite off the list
///
/// Later erasures do not change this copy, and do not wait for it. It still opens older copies of erased files, so
/// remove it wherever it is. The audit log keeps its path and the time.
#[derive(Debug, clap::Args)]
pub(super) struct ForgetArgs {
    /// The data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The file of the copy, which need not be there
    #[arg(long, value_name = "FILE")]
    copy: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Writes a copy of `keys.sqlite` and registers it. If the copy is registered already, overwrites it.
pub(super) fn copy(arguments: CopyArgs) -> Result<(), Failure> {
    let lake = Lake::open(&arguments.data).map_err(Failure::from_lake)?;
    if lake.kind() != Kind::Sealed {
        let why = match lake.kind() {
            Kind::Open => "is not sealed, so it has no keys",
            _ => "is on its way between open and sealed; finish that first",
        };
        return Err(Failure::input(format!(
            "the lake at {} {why}",
            arguments.data.display()
        )));
    }
    let to = whole(&arguments.to)?;
    refuse_place(&arguments.data, &to)?;
    let store = open(&arguments.data)?;
    let writer = arguments.wait.writer(&lake)?;
    let keys = writer.copy_keys(&to).map_err(|error| match error {
        LakeError::Seal(error) => of_keys(error),
        error => Failure::from_lake(error),
    })?;
    drop(writer);
    let path = to.display().to_string();
    store.audit().keys_copied(&path).map_err(Failure::other)?;
    if arguments.json {
        println!("{:#}", json!({"copy": path, "keys": keys}));
    } else {
        println!("{path} has the {keys} keys of the lake's files. Every erasure destroys its keys there, too.");
    }
    Ok(())
}

/// Prints the registered copies.
pub(super) fn list(arguments: CopiesArgs) -> Result<(), Failure> {
    let copies = registered(&arguments.data)?;
    let paths: Vec<String> = copies.iter().map(|path| path.display().to_string()).collect();
    if arguments.json {
        println!("{:#}", json!({"copies": paths}));
    } else {
        paths.iter().for_each(|path| println!("{path}"));
    }
    Ok(())
}

/// Removes a copy from the list of registered copies. Does not delete the file of the copy.
pub(super) fn forget(arguments: ForgetArgs) -> Result<(), Failure> {
    let copies = registered(&arguments.data)?;
    let absolute = std::path::absolute(&arguments.copy).map_err(Failure::other)?;
    let names = [whole(&arguments.copy).unwrap_or_else(|_| absolute.clone()), absolute];
    let Some(copy) = copies.iter().find(|copy| names.contains(copy)) else {
        let known = copies.iter().map(|path| path.display().to_string());
        let known: Vec<String> = known.collect();
        if known.is_empty() {
            return Err(Failure::input("no copy of keys.sqlite is registered"));
        }
        return Err(Failure::input(format!(
            "{} is no registered copy of keys.sqlite; these are: {}",
            arguments.copy.display(),
            known.join(", ")
        )));
    };
    let path = copy.display().to_string();
    // Writes the audit log first, so that no change is without a log entry if the command is killed.
    let store = open(&arguments.data)?;
    store.audit().keys_copy_forgotten(&path).map_err(Failure::other)?;
    KeyStore::forget_copy(&arguments.data, copy).map_err(of_keys)?;
    if arguments.json {
        println!("{:#}", json!({"forgotten": path}));
    } else {
        println!("{path} is no longer registered. It still opens older copies of erased files: remove it.");
    }
    Ok(())
}

/// Returns the registered copies of a lake's keys. An open lake has none.
fn registered(data: &Path) -> Result<Vec<PathBuf>, Failure> {
    if is_sealed(data).map_err(Failure::from_lake)? {
        KeyStore::copies(data).map_err(of_keys)
    } else {
        Ok(Vec::new())
    }
}

/// Returns the absolute path of a file, which need not exist. Its folder must exist, and links in the folder's path
/// are resolved.
fn whole(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path).map_err(Failure::other)?;
    let named = absolute.parent().zip(absolute.file_name());
    let (folder, name) = named.ok_or_else(|| Failure::input(format!("{} is no file", path.display())))?;
    let folder = std::fs::canonicalize(folder)
        .map_err(|error| Failure::input(format!("cannot find {}: {error}", folder.display())))?;
    Ok(folder.join(name))
}

/// Fails if the copy of the keys lies in the data folder or in a folder of backups. There it would be copied or stolen
/// together with the files that its keys open.
fn refuse_place(data: &Path, to: &Path) -> Result<(), Failure> {
    let data = std::fs::canonicalize(data).map_err(Failure::other)?;
    let place = if to.starts_with(&data) {
        "the data folder"
    } else if BackupFolder::has_within(to) {
        "a folder of backups"
    } else {
        return Ok(());
    };
    Err(Failure::input(format!(
        "{} lies in {place}, next to the files that the keys open; keep the copy in another place",
        to.display()
    )))
}
