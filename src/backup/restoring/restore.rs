//! Restores a snapshot into an empty folder. A restore builds the snapshot in a subfolder, compares it with its
//! manifest, and repeats the later erasures. Then it moves the parts to their places, the catalog last. Until the
//! catalog is there, the folder has no lake, and while the subfolder is there, no command makes one. If a restore was
//! killed, the next one removes what it has left (`building`). If only the subfolder had to be removed, the next one
//! does that, and returns the result that the killed one has written down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::apply::{Rules, apply};
use super::super::error::BackupError;
use super::super::files::{Files, How, is_never_changed};
use super::super::folder::{BackupFolder, sync_folder};
use super::super::manifest::{Manifest, slashed};
use super::super::sealed::SnapshotKeys;
use super::building::{self, Building};
use crate::lake::LakeError;
use crate::lake::erase::ledger;
use crate::lake::erase::ledger::Ledger;
use crate::lake::store::image::{LakeImage, Lost, Reserved, erasures, settle_image};
use crate::private;

/// The options of a restore.
#[derive(Clone, Debug, Default)]
pub struct Restoring {
    /// The id of the snapshot to restore. The newest one by default.
    pub snapshot: Option<String>,
    /// The path of the ledger of erasures. `None` means the path that `ledger::place` returns for the data folder.
    pub erasures: Option<PathBuf>,
    /// Allows a restore without the ledger. Rows that were erased after the snapshot then come back.
    pub accept_resurrection: bool,
    /// Copies files even if a hard link is possible.
    pub copy: bool,
    /// The path of the keys database of a sealed lake. The database is not changed.
    pub keys: Option<PathBuf>,
    /// Allows a restore without files whose keys were destroyed.
    pub accept_loss: bool,
}

/// The result of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The id of the snapshot.
    pub id: String,
    /// The number of restored files.
    pub files: u64,
    /// The total size of the restored files in bytes.
    pub bytes: u64,
    /// The number of owners whose rows or attachments were erased again.
    pub owners: u64,
    /// The number of consents and authorizations that were ended in the restored store.
    pub ended: u64,
    /// Whether the restore was made without the ledger. Then the erasures after the snapshot are unknown, and the
    /// restore did not repeat them.
    pub without_ledger: bool,
    /// The files and rows that were left out because the keys of the files were destroyed.
    pub lost: Lost,
    /// Places where erased bytes may remain, a text for each.
    pub left: Vec<String>,
}

/// Restores a snapshot of the folder of backups `from` into `data`, which must be absent or empty.
pub fn restore(from: &Path, data: &Path, options: &Restoring, rules: Rules<'_>) -> Result<Restored, BackupError> {
    let place = BackupFolder::open(from)?;
    let manifest = place.manifest(options.snapshot.as_deref())?;
    refuse_keys_below(data, options.keys.as_deref())?;
    if let Some(restored) = building::end_killed(data, &manifest.id)? {
        return Ok(restored);
    }
    let ledger = find_ledger(&place, &manifest, data, options)?;
    building::check(data)?;
    let keys = SnapshotKeys::find(&place, &manifest, options.keys.as_deref(), options.accept_loss)?;
    private::folder(data).map_err(BackupError::io("make", data))?;
    let reserved = Reserved::take(data)?;
    let building = Building::begin(data)?;
    // The new folder gets a copy of the ledger beside it, because later restores of this folder's backups need it. If
    // there is a ledger already, add what it lacks. If it is another lake's ledger, the restore fails here, before it
    // builds anything. If there is none, the copy is made in the subfolder, and carried there when it is complete. So a
    // kill leaves no half of a line in it. If the environment names the ledger, the lake's writer enters erasures there
    // while the folder is built, so the copy must be there before.
    let own = ledger::place(data);
    let is_named = std::env::var_os(ledger::VARIABLE).is_some_and(|named| !named.is_empty());
    let is_there = is_named || own.try_exists().map_err(BackupError::io("find", &own))?;
    let copy = if is_there { own.clone() } else { building.ledger() };
    let carried = ledger.map_or(Ok(None), |ledger| {
        ledger.carry_to(&copy)?;
        Ledger::read(&copy)
    });
    let finished = carried.map_err(BackupError::from).and_then(|ledger| {
        let dir = building.path();
        let restored = build(
            (&place, &manifest),
            dir,
            (ledger.as_ref(), keys.as_ref()),
            options,
            rules,
        )?;
        match &ledger {
            Some(ledger) if !is_there => ledger.read_again()?.carry_to(&own)?,
            _ => {}
        }
        let parts = building.write_result(&restored)?;
        Ok((restored, parts))
    });
    let (restored, parts) = match finished {
        Ok(finished) => finished,
        Err(error) => {
            building.discard();
            return Err(error);
        }
    };
    building.show(&parts)?;
    drop(reserved);
    Ok(restored)
}

/// Returns an error if the keys are in the folder `data`, by the given path or by the links on it. The folder must be
/// empty.
fn refuse_keys_below(data: &Path, keys: Option<&Path>) -> Result<(), BackupError> {
    let Some(keys) = keys else {
        return Ok(());
    };
    let below = |keys: std::io::Result<PathBuf>, data: std::io::Result<PathBuf>| {
        keys.is_ok_and(|keys| data.is_ok_and(|data| keys.starts_with(data)))
    };
    let folder = keys.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_below = below(std::path::absolute(keys), std::path::absolute(data))
        || below(keys.canonicalize(), data.canonicalize())
        || below(folder.unwrap_or(Path::new(".")).canonicalize(), data.canonicalize());
    if !is_below {
        return Ok(());
    }
    Err(BackupError::KeysBelow {
        keys: keys.to_owned(),
        data: data.to_owned(),
    })
}

/// Finds the ledger, and checks that it belongs to the backups. If there is no such ledger, returns `None` if the
/// caller accepts a restore without it, and otherwise an error.
fn find_ledger(
    place: &BackupFolder,
    manifest: &Manifest,
    data: &Path,
    options: &Restoring,
) -> Result<Option<Ledger>, BackupError> {
    let path = options.erasures.clone().unwrap_or_else(|| ledger::place(data));
    // Other manifests may record later states of the ledger than the manifest of this snapshot. So compare the ledger
    // with all that can be read. This refuses a copy of the ledger that is older than the newest backup. A manifest of
    // an earlier ledger, which was lost, does not count, unless it is that of this snapshot or of the newest one.
    let ids = place.ids()?;
    let newest = ids.last().cloned();
    let others = ids.iter().filter_map(|id| Manifest::read(&place.path(id)).ok());
    let others: Vec<Manifest> = others.collect();
    let of_same = |ledger: &Ledger| {
        let counts =
            |other: &&Manifest| other.ledger.ledger == ledger.id() || newest.as_ref().is_some_and(|id| *id == other.id);
        let mut states = others.iter().filter(counts).chain([manifest]);
        states.all(|other| ledger.goes_on_from(&other.ledger))
    };
    let refused = match Ledger::read(&path) {
        Ok(Some(ledger)) if of_same(&ledger) => return Ok(Some(ledger)),
        _ if options.accept_resurrection => return Ok(None),
        Ok(Some(_)) => "is an older copy, or not the one of this backup".to_owned(),
        Ok(None) => "is missing".to_owned(),
        Err(LakeError::Ledger { what, .. }) => what,
        Err(error) => return Err(error.into()),
    };
    Err(BackupError::NoLedger { path, what: refused })
}

fn build(
    (place, manifest): (&BackupFolder, &Manifest),
    dir: &Path,
    (ledger, keys): (Option<&Ledger>, Option<&SnapshotKeys>),
    options: &Restoring,
    rules: Rules<'_>,
) -> Result<Restored, BackupError> {
    let files = Files::new(place);
    for file in &manifest.files {
        let is_shared = is_never_changed(&file.path) && !options.copy;
        files.lay_out(file, dir, if is_shared { How::Link } else { How::Copy })?;
    }
    let data = dir.join("data");
    private::folder(&data).map_err(BackupError::io("make", &data))?;
    is_whole(manifest, dir)?;
    // The catalog of the snapshot knows how many entries the ledger had of the lake.
    match ledger.map_or(Ok(()), |ledger| ledger.check_catalog(dir)) {
        Err(LakeError::Ledger { path, what }) => return Err(BackupError::NoLedger { path, what }),
        checked => checked?,
    }
    keys.map_or(Ok(()), |keys| keys.give_to(dir))?;
    let key = settle_image(dir, None, None)?;
    keys.map_or(Ok(()), |keys| keys.end(dir))?;
    let mut restored = Restored {
        id: manifest.id.clone(),
        files: manifest.files.len() as u64,
        bytes: manifest.bytes(),
        without_ledger: ledger.is_none(),
        lost: keys.map(|keys| keys.lost).unwrap_or_default(),
        ..Restored::default()
    };
    if let Some(ledger) = ledger {
        // Earlier programs raised `erasures` in the manifest of a sealed lake without erasing rows in its files. So
        // take the catalog's count if it is lower, and repeat all erasures after it.
        let number = match keys {
            Some(_) => manifest.erasures.min(erasures(dir)?),
            None => manifest.erasures,
        };
        let since = ledger.since(key, number);
        if manifest.is_erasing || !since.is_empty() {
            let applied = apply(dir, key, &since, ledger, rules)?;
            restored.owners = applied.owners;
            restored.ended = applied.ended;
            restored.left = applied.left;
        } else {
            settle_image(dir, None, Some(ledger))?;
        }
    }
    sync_all(dir)?;
    Ok(restored)
}

/// Checks that the manifest has all files that the copied catalog names, with the lengths that the catalog records.
fn is_whole(manifest: &Manifest, dir: &Path) -> Result<(), BackupError> {
    let copy = dir.join("check.sqlite");
    let image = LakeImage::take(dir, &copy)?;
    let files = manifest.files.iter().filter(|file| file.path.starts_with("data/"));
    let laid_out: BTreeMap<&str, u64> = files.map(|file| (file.path.as_str(), file.bytes)).collect();
    for file in &image.files {
        if laid_out.get(slashed(&file.path).as_str()) != Some(&file.bytes) {
            let path = place_of(manifest);
            let what = format!("has not the file {} that its catalog names", file.path.display());
            return Err(BackupError::damaged(&path, what));
        }
    }
    drop(image);
    std::fs::remove_file(&copy).map_err(BackupError::io("remove", &copy))
}

fn place_of(manifest: &Manifest) -> PathBuf {
    PathBuf::from(format!("snapshot {}", manifest.id))
}

/// Syncs all files and folders below a folder. Skips files that end with `.parquet` or `.attachment`, because they were
/// synced when they were written.
fn sync_all(dir: &Path) -> Result<(), BackupError> {
    for entry in std::fs::read_dir(dir).map_err(BackupError::io("read", dir))? {
        let entry = entry.map_err(BackupError::io("read", dir))?;
        let path = entry.path();
        let is_table = path
            .extension()
            .is_some_and(|ending| ending == "parquet" || ending == "attachment");
        if path.is_dir() {
            sync_all(&path)?;
        } else if !is_table {
            sync_folder(&path)?;
        }
    }
    sync_folder(dir)
}
