//! Orphans: files in `data/` that no snapshot names, as an interrupted writer leaves them. The next writer moves them
//! to `data/.orphans/TIME/`, and a later one removes them after a day.
//!
//! A file counts as an orphan only if the catalog can be trusted: the catalog agrees with its mark, all files that it
//! names exist with their recorded sizes, and its rows do not contradict each other. The catalog also lists the files
//! that it has released: expired files, and files that an erasure replaced. These are not orphans, and are removed at
//! once.

use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDateTime, Utc};

use super::super::attachment::{is_attachment, read_trailer};
use super::super::deletes;
use super::super::erase::{Hindrance, meant};
use super::super::owners::scope::Scope;
use super::super::seal::Keys;
use super::super::store::disk::remove;
use super::super::store::folder::Folder;
use super::super::store::survey::{files_below, has_our_ending, is_ours};
use crate::private::{self, Kind, OwnFolder};

/// How long an orphan is kept after it was moved, in microseconds.
const KEPT: i64 = 24 * 3600 * 1_000_000;
/// The name of the folder of orphans in `data/`.
const NAME: &str = ".orphans";
/// The format of the name of a folder in `data/.orphans/`: the time when its files were moved.
const TIME: &str = "%Y%m%dT%H%M%SZ";

/// Moves orphans aside, except files whose names this program does not give. A file that cannot be moved, for example
/// because the disk is full, waits for the next writer.
pub(in crate::lake) fn move_aside(folder: &Folder, orphans: &[PathBuf], now: i64) {
    if let Err(error) = OwnFolder::open(&folder.data()).and_then(|data| data.folder_or_new(NAME)) {
        tracing::warn!(folder = %folder.orphans().display(), %error, "files that no snapshot has cannot be moved aside");
        return;
    }
    let aside = folder.orphans().join(name_of(now));
    let data = folder.data();
    for path in orphans.iter().filter(|path| is_ours(path)) {
        let to = aside.join(path.strip_prefix(&data).unwrap_or(path));
        let moved = private::folder(to.parent().unwrap_or(&aside)).and_then(|()| std::fs::rename(path, &to));
        match moved {
            Ok(()) => {
                tracing::warn!(file = %path.display(), to = %to.display(), "moved a file aside that no snapshot has")
            }
            Err(error) => {
                tracing::warn!(file = %path.display(), %error, "a file that no snapshot has cannot be moved aside");
            }
        }
    }
}

/// Removes files that were moved aside more than a day ago. A wrong clock may have named their folder after a time in
/// the future: such a folder gets the present time as its name, so its day begins now. Failures are only logged. Does
/// nothing if `now` is `None`, because the clock may not decide.
pub(in crate::lake) fn remove_old(folder: &Folder, now: Option<i64>) {
    let Some(now) = now else { return };
    // Neither `data` nor `.orphans` may be a link to a folder of somebody else.
    let aside = OwnFolder::open(folder.path()).and_then(|lake| lake.folder("data")?.folder(NAME));
    for (name, kind) in aside.and_then(|aside| aside.entries()).unwrap_or_default() {
        let moved = NaiveDateTime::parse_from_str(&name.to_string_lossy(), TIME);
        let Ok(age) = moved.map(|moved| now - moved.and_utc().timestamp_micros()) else {
            continue;
        };
        if kind != Kind::Folder {
            continue;
        }
        let path = folder.orphans().join(name);
        let done = if age > KEPT {
            std::fs::remove_dir_all(&path)
        } else if age < -KEPT {
            std::fs::rename(&path, folder.orphans().join(name_of(now)))
        } else {
            Ok(())
        };
        if let Err(error) = done {
            tracing::warn!(folder = %path.display(), %error, "files that were moved aside cannot be removed");
        }
    }
}

/// Returns the name of the folder for files that are moved at this time.
fn name_of(now: i64) -> String {
    let time = DateTime::<Utc>::from_timestamp_micros(now).unwrap_or_default();
    time.format(TIME).to_string()
}

/// Removes orphans that hold rows of these scopes, and unreadable orphans, which may hold such rows. `in_place` are
/// orphans that are not moved aside yet. Of these, files whose names this program does not give stay. Returns a text
/// for each file that stays, and one if the moved files cannot be listed.
pub(in crate::lake) fn remove_with_rows_of(folder: &Folder, in_place: &[PathBuf], scopes: &[&Scope]) -> Vec<String> {
    let mut left = Vec::new();
    let (ours, others): (Vec<_>, Vec<_>) = in_place.iter().cloned().partition(|path| is_ours(path));
    let others = others.into_iter().filter(|path| has_our_ending(path));
    for path in others.filter(|path| may_hold(path, scopes, folder.keys())) {
        let path = path.display();
        left.push(format!("{path}, which is no file of this program: remove it"));
    }
    let mut orphans = ours;
    if let Err(error) = files_below(&folder.orphans(), &mut |path, _| orphans.push(path)) {
        left.push(error.to_string());
    }
    for path in orphans {
        if !may_hold(&path, scopes, folder.keys()) {
            continue;
        }
        match remove(&path) {
            Ok(()) => tracing::info!(file = %path.display(), "removed a file that was moved aside, for an erasure"),
            Err(error) => left.push(error.to_string()),
        }
    }
    left
}

/// Finds the files that `tabularium check --adopt` kept beside the lake and that may hold rows of these scopes.
/// Returns a text for each, which asks the operator to remove it.
pub(in crate::lake) fn kept_with_rows_of(folder: &Folder, scopes: &[&Scope]) -> Vec<String> {
    let mut kept = Vec::new();
    for path in folder.kept() {
        let is_file = path.is_file();
        // Keep an unreadable folder in the list, because it may hold such rows.
        if is_file || files_below(&path, &mut |path, _| kept.push(path)).is_err() {
            kept.push(path);
        }
    }
    kept.retain(|path| may_name(path, scopes, folder.keys()));
    let clause = |path: PathBuf| {
        let path = path.display();
        format!("{path}, which `tabularium check --adopt` has kept: remove it when it is not needed any more")
    };
    kept.into_iter().map(clause).collect()
}

/// Whether a kept file may hold rows of these scopes, or their ids. A kept catalog has the ids of the Patients and
/// authorizations of erasures that it has recorded. Also `true` for an unreadable file, because it may hold them.
fn may_name(path: &Path, scopes: &[&Scope], keys: &Keys) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".parquet") || is_attachment(path) {
        return may_hold(path, scopes, keys);
    }
    let Ok(bytes) = private::read(path) else { return true };
    let people = scopes.iter().filter_map(|scope| scope.patient.as_ref());
    let mut ids = people.flat_map(|person| person.patients.iter().chain(&person.authorizations));
    ids.any(|id| memchr::memmem::find(&bytes, id.as_bytes()).is_some())
}

fn may_hold(path: &Path, scopes: &[&Scope], keys: &Keys) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A delete file holds only positions and no rows. An unreadable one is treated like a data file below.
    if name.ends_with(deletes::SUFFIX) && deletes::read(path, keys).is_ok() {
        return false;
    }
    if is_attachment(path) {
        return match read_trailer(path, keys) {
            Ok(trailer) => scopes.iter().any(|scope| trailer.is_of(scope)),
            // Without a readable trailer nobody knows whose attachment this is, so it may be of these scopes.
            Err(_) => path.exists(),
        };
    }
    match meant(path, u64::MAX, scopes, keys) {
        Ok(rows) => !rows.all.is_empty(),
        Err(Hindrance::Gone) => false,
        Err(Hindrance::Error(_)) => true,
    }
}
