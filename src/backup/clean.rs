//! Removes erased rows from earlier snapshots: the rows that were erased after a snapshot was made.
//!
//! For each snapshot it builds a working copy of the data folder and repeats the later erasures in it. Rewritten files
//! become new files of the snapshot. The backup then removes the files that no snapshot uses any more. Nobody sees an
//! intermediate state, because the new manifest replaces the old one in one step.

use std::path::Path;

use super::apply::{Rules, apply};
use super::contents::Contents;
use super::error::BackupError;
use super::files::{Files, How, is_never_changed};
use super::folder::BackupFolder;
use super::manifest::{CATALOG, Manifest, slashed};
use crate::consent::STORE_FILE;
use crate::lake::erase::ledger::Ledger;
use crate::lake::store::image::{LakeImage, settle_image};
use crate::private::Below;

/// The result of repeating erasures in the snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The number of snapshots from which rows or access to rows were removed.
    pub snapshots: u64,
    /// The ids of snapshots that rely on another ledger. It is unknown what was erased after they were made, so they
    /// are left unchanged.
    pub unknown: Vec<String>,
    /// Places where erased bytes may remain, a text for each.
    pub left: Vec<String>,
    /// The errors of unreadable manifests, a sentence for each. After such an error, no file is removed from the folder
    /// of backups, because it is unknown which files that snapshot uses.
    pub damaged: Vec<String>,
}

/// Removes from each snapshot the rows that were erased after the snapshot was made.
pub(super) fn clean(place: &BackupFolder, ledger: &Ledger, rules: Rules<'_>) -> Result<Cleaned, BackupError> {
    let mut cleaned = Cleaned::default();
    for id in place.ids()? {
        let manifest = match Manifest::read(&place.path(&id)) {
            Err(error @ BackupError::Damaged { .. }) => {
                cleaned.damaged.push(error.to_string());
                continue;
            }
            read => read?,
        };
        if !ledger.goes_on_from(&manifest.ledger) {
            cleaned.unknown.push(id);
        } else if manifest.is_erasing || ledger.has_later(&manifest.lake, manifest.cleaned_up_to()) {
            clean_one(place, ledger, manifest, rules, &mut cleaned)?;
        }
    }
    Ok(cleaned)
}

fn clean_one(
    place: &BackupFolder,
    ledger: &Ledger,
    mut manifest: Manifest,
    rules: Rules<'_>,
    cleaned: &mut Cleaned,
) -> Result<(), BackupError> {
    place.clear_work()?;
    let dir = place.work().join("lake");
    lay_out(place, &manifest, &dir)?;
    let key = settle_image(&dir, None, None)?;
    let since = ledger.since(key, manifest.cleaned_up_to());
    let applied = apply(&dir, key, &since, ledger, rules)?;
    let has_lost = manifest.is_erasing || applied.owners + applied.ended > 0;
    if has_lost {
        let mut contents = Contents::new(place, &[&manifest]);
        for file in &manifest.files {
            let is_of_lake = file.path.starts_with("data/") || file.path == CATALOG || file.path == STORE_FILE;
            if !is_of_lake && !contents.take_known(&file.path, file.bytes) {
                return Err(BackupError::damaged(&place.file(&file.sha256), "is missing"));
            }
        }
        contents.add_if_there(Below::new(&dir, STORE_FILE), STORE_FILE, How::Copy)?;
        let catalog = contents.draft(CATALOG);
        let image = LakeImage::take(&dir, &catalog)?;
        for file in &image.files {
            let path = slashed(&file.path);
            if !contents.take_known(&path, file.bytes) {
                contents.add(Below::new(&dir, &file.path), &path, How::Move)?;
            }
        }
        contents.add_draft(CATALOG, CATALOG)?;
        manifest.is_erasing = image.is_erasing;
        manifest.snapshot = image.snapshot;
        manifest.files = contents.finish()?;
        cleaned.snapshots += 1;
    }
    if applied.left.is_empty() {
        manifest.store_erasures = since.newest().max(manifest.cleaned_up_to());
        if applied.in_lake {
            manifest.erasures = manifest.store_erasures;
        }
        // `apply` has entered the snapshot's unfinished erasures in the ledger. So the manifest gets the ledger's new
        // state. Then a restore refuses a copy of the ledger that lacks these entries.
        manifest.ledger = ledger.read_again()?.state();
    }
    place.publish(&manifest)?;
    let left = applied.left.into_iter();
    cleaned
        .left
        .extend(left.map(|left| format!("snapshot {}: {left}", manifest.id)));
    place.clear_work()
}

/// Builds a working copy of a snapshot. Files that never change are linked if possible. All others are copied,
/// because the erasures change them.
fn lay_out(place: &BackupFolder, manifest: &Manifest, dir: &Path) -> Result<(), BackupError> {
    let files = Files::new(place);
    for file in &manifest.files {
        if is_never_changed(&file.path) {
            files.lay_out_unread(file, dir)?
        } else {
            files.lay_out(file, dir, How::Copy)?
        }
    }
    Ok(())
}
