//! Makes a backup: a snapshot of a data folder while other processes read and write the folder.
//!
//! It copies the service's store first, then the catalog, then the files that the copied catalog names. So if the
//! copied store counts a sync as finished, the copied lake has the records of this sync. If a sync ends between the
//! copies of the store and of the catalog, the copied store counts it as unfinished. Then the restored server runs it
//! again. Data files never change, but an erasure or an expiry may remove a file that the copied catalog names. Then
//! the catalog is copied again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::apply::Rules;
use super::beside::{add_service, add_tables};
use super::clean::{Cleaned, clean};
use super::contents::Contents;
use super::error::BackupError;
use super::files::How;
use super::folder::BackupFolder;
use super::manifest::{CATALOG, Manifest, slashed};
use crate::lake::check::{Finding, Problem};
use crate::lake::erase::ledger;
use crate::lake::erase::ledger::Ledger;
use crate::lake::store::image::{LakeImage, Reserved, erasures, ledger_for_backup, record_ledger};
use crate::lake::{Lake, LakeError};
use crate::private::Below;

/// The number of attempts to copy the files while other processes can write. If all fail, one more attempt follows
/// under the writer's lock. It takes little time, because the earlier attempts have copied most of the files.
const ATTEMPTS: u32 = 5;
/// How long a backup waits for the writer's lock.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between attempts to take the lock.
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// The options of a backup.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How many snapshots to keep, including this one. `None` keeps all.
    pub keep: Option<usize>,
    /// Copies files even if a hard link is possible.
    pub copy: bool,
    /// Leaves out the key of the service's store.
    pub without_key: bool,
}

/// The result of a backup.
#[derive(Clone, Debug, Default)]
pub struct Backed {
    /// The snapshot's id.
    pub id: String,
    /// The number of files in the snapshot.
    pub files: u64,
    /// The total size of the files in the snapshot in bytes.
    pub bytes: u64,
    /// The number of files that were added to the folder of backups.
    pub added: u64,
    /// The total size of the files that were added to the folder of backups, in bytes.
    pub added_bytes: u64,
    /// The number of older snapshots that were removed.
    pub removed: u64,
    /// The result of repeating erasures in earlier snapshots.
    pub cleaned: Cleaned,
    /// The path of the ledger of erasures, if it takes the place of the one on which the lake's earlier backups rely.
    pub new_ledger: Option<PathBuf>,
}

/// Makes a backup of a data folder. Removes from earlier snapshots the rows that were erased later.
pub fn backup(data: &Path, to: &Path, options: Options, rules: Rules<'_>) -> Result<Backed, BackupError> {
    refuse_overlap(data, to)?;
    Lake::open(data)?;
    let place = BackupFolder::open_or_create(to)?;
    let (ledger, is_instead) = ledger_for_backup(data)?;
    // Record the ledger in the lake before the snapshot exists. From then on the lake finishes an erasure only after
    // the ledger has it. So the ledger has all erasures that a restore of this snapshot must repeat.
    record_ledger(data, &ledger)?;
    let made = take(&place, data, options, &ledger);
    let removed = match (&made, options.keep) {
        (Ok(_), Some(keep)) => place.keep(keep)?,
        _ => 0,
    };
    // Remove erased rows from the earlier snapshots even if this backup failed.
    let cleaned = clean(&place, &ledger.read_again()?, rules)?;
    // The snapshots now rely on the entries that this backup has made.
    record_ledger(data, &ledger.read_again()?)?;
    if cleaned.damaged.is_empty() {
        place.sweep()?;
    }
    place.clear_work()?;
    made.map(|made| Backed {
        removed,
        cleaned,
        new_ledger: is_instead.then(|| ledger.path().to_owned()),
        ..made
    })
}

/// Returns an error if the folder of backups is inside the data folder, or the data folder is inside the folder of
/// backups.
fn refuse_overlap(data: &Path, to: &Path) -> Result<(), BackupError> {
    let whole = |path: &Path| -> PathBuf {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // Resolve symbolic links in the part of the path that exists. The folder of backups may not exist yet.
        let there = absolute.ancestors().find_map(|above| {
            let rest = absolute.strip_prefix(above).ok()?;
            Some(std::fs::canonicalize(above).ok()?.join(rest))
        });
        there.unwrap_or(absolute)
    };
    let (data, to) = (whole(data), whole(to));
    if to.starts_with(&data) || data.starts_with(&to) {
        return Err(BackupError::Folder {
            path: to,
            what: "cannot hold backups: it lies in the data folder, or the data folder in it",
        });
    }
    Ok(())
}

fn take(place: &BackupFolder, data: &Path, options: Options, ledger: &Ledger) -> Result<Backed, BackupError> {
    let earlier = match place.manifest(None) {
        Ok(newest) => Some(newest),
        Err(BackupError::NoSnapshot { .. } | BackupError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    let earlier: Vec<&Manifest> = earlier.iter().collect();
    let mut contents = Contents::new(place, &earlier);
    let mut fresh = BTreeSet::new();
    for attempt in 0..=ATTEMPTS {
        let reserved = match attempt {
            ATTEMPTS => Some(reserve(data)?),
            _ => None,
        };
        if let Some(image) = attempt_at(&mut contents, &mut fresh, data, options, &earlier)? {
            drop(reserved);
            return publish(place, contents, &image, ledger);
        }
        contents.begin_again();
    }
    Err(BackupError::Changing(data.to_owned()))
}

/// Waits for the writer's lock of the lake and holds it.
fn reserve(data: &Path) -> Result<Reserved, BackupError> {
    let begun = Instant::now();
    loop {
        match Reserved::take(data) {
            Err(LakeError::Busy { .. }) if begun.elapsed() < PATIENCE => std::thread::sleep(LOCK_RETRY),
            taken => return Ok(taken?),
        }
    }
}

/// Copies all files to the folder of backups. Returns `None` if the lake has removed a file meanwhile, so that the
/// caller tries again. `fresh` has the files that this attempt or an earlier one has added. They are compared with the
/// catalog here.
fn attempt_at(
    contents: &mut Contents<'_>,
    fresh: &mut BTreeSet<PathBuf>,
    data: &Path,
    options: Options,
    earlier: &[&Manifest],
) -> Result<Option<LakeImage>, BackupError> {
    // Read the count of erasures before the store is copied. A later erasure may be in the copy of the lake and not
    // in the copy of the store. The manifest gets the lower count, so a restore repeats this erasure in both copies.
    let before = erasures(data)?;
    add_service(contents, data, !options.without_key)?;
    add_tables(contents, data)?;
    let catalog = contents.draft(CATALOG);
    let mut image = LakeImage::take(data, &catalog)?;
    image.erasures = image.erasures.min(before);
    if image.kind.is_halfway() {
        return Err(BackupError::Halfway(data.to_owned()));
    }
    if earlier
        .iter()
        .any(|earlier| earlier.lake != ledger::lake_id(image.owner_key()))
    {
        return Err(BackupError::Folder {
            path: contents.place().root().to_owned(),
            what: "holds backups of another lake",
        });
    }
    let how = if options.copy { How::Copy } else { How::Link };
    let mut damaged = Vec::new();
    for file in &image.files {
        let path = slashed(&file.path);
        if contents.take_known(&path, file.bytes) {
            continue;
        }
        let source = data.join(&file.path);
        if !contents.add_if_there(Below::new(data, &file.path), &path, how)? {
            if !image.is_still_named(&file.path)? {
                return Ok(None);
            }
            damaged.push(finding(&source, Problem::Missing));
            continue;
        }
        fresh.insert(file.path.clone());
        let found = contents.bytes(&path).unwrap_or_default();
        if found != file.bytes {
            let recorded = file.bytes;
            damaged.push(finding(&source, Problem::Size { recorded, found }));
            contents.forget(&path);
            fresh.remove(&file.path);
        }
    }
    for found in image.inspect(|path| fresh.contains(path))? {
        let below = found.path.strip_prefix(data).unwrap_or(&found.path);
        if found.problem == Problem::Missing && !image.is_still_named(below)? {
            return Ok(None);
        }
        damaged.push(found);
    }
    if !damaged.is_empty() {
        return Err(BackupError::LakeDamaged(damaged));
    }
    contents.add_draft(CATALOG, CATALOG)?;
    Ok(Some(image))
}

fn finding(path: &Path, problem: Problem) -> Finding {
    let path = path.to_owned();
    Finding { path, problem }
}

fn publish(
    place: &BackupFolder,
    mut contents: Contents<'_>,
    image: &LakeImage,
    ledger: &Ledger,
) -> Result<Backed, BackupError> {
    let lake = ledger::lake_id(image.owner_key());
    let mut manifest = Manifest::new(place.next_id()?, lake, ledger.state());
    manifest.snapshot = image.snapshot;
    manifest.erasures = image.erasures;
    manifest.store_erasures = image.erasures;
    manifest.is_erasing = image.is_erasing;
    manifest.files = contents.finish()?;
    place.publish(&manifest)?;
    Ok(Backed {
        files: manifest.files.len() as u64,
        bytes: manifest.bytes(),
        id: manifest.id,
        added: contents.files.added,
        added_bytes: contents.files.added_bytes,
        ..Backed::default()
    })
}
