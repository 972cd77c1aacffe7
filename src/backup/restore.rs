//! Restores a snapshot into an empty folder. A restore builds the snapshot in a subfolder, compares it with its
//! manifest, and repeats the later erasures. Then it moves the parts to their places, the catalog last. Until the
//! catalog is there, the folder has no lake, and while the subfolder is there, no command makes one. If a restore was
//! killed, the next one removes what it has left. If only the subfolder had to be removed, the next one does that, and
//! returns the result that the killed one has written down.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::apply::{Rules, apply};
use super::error::BackupError;
use super::files::{Files, How, is_never_changed};
use super::folder::{BackupFolder, sync_folder};
use super::manifest::{CATALOG, Manifest, slashed};
use super::sealed::SnapshotKeys;
use crate::lake::LakeError;
use crate::lake::erase::ledger;
use crate::lake::erase::ledger::Ledger;
use crate::lake::store::image::{LakeImage, Lost, RESTORING, Reserved, discard_keys, erasures, settle_image};
use crate::private;

const LOCK: &str = "lock";
/// The file in the subfolder that has the result of the restore. It is written before the first part is moved.
const RESULT: &str = "restored.json";
/// The copy of the ledger in the subfolder, until the restored lake gets it.
const LEDGER: &str = "ledger";
/// The name of an empty file in the subfolder. Without it, the subfolder is somebody else's.
const MARK: &str = "tabularium-restore";

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
    if let Some(restored) = end_killed(data, &manifest.id)? {
        return Ok(restored);
    }
    let ledger = find_ledger(&place, &manifest, data, options)?;
    left_behind(data)?;
    let keys = SnapshotKeys::find(&place, &manifest, options.keys.as_deref(), options.accept_loss)?;
    private::folder(data).map_err(BackupError::io("make", data))?;
    let reserved = Reserved::take(data)?;
    let building = data.join(RESTORING);
    clear(data)?;
    private::folder(&building).map_err(BackupError::io("make", &building))?;
    mark(&building)?;
    sync_folder(data)?;
    // The new folder gets a copy of the ledger beside it, because later restores of this folder's backups need it. If
    // there is a ledger already, add what it lacks. If it is another lake's ledger, the restore fails here, before it
    // builds anything. If there is none, the copy is made in the subfolder, and carried there when it is complete. So a
    // kill leaves no half of a line in it. If the environment names the ledger, the lake's writer enters erasures there
    // while the folder is built, so the copy must be there before.
    let own = ledger::place(data);
    let is_named = std::env::var_os(ledger::VARIABLE).is_some_and(|named| !named.is_empty());
    let is_there = is_named || own.try_exists().map_err(BackupError::io("find", &own))?;
    let copy = if is_there { own.clone() } else { building.join(LEDGER) };
    let carried = ledger.map_or(Ok(None), |ledger| {
        ledger.carry_to(&copy)?;
        Ledger::read(&copy)
    });
    let ledger = carried.inspect_err(|_| drop(remove_building(&building, MARK)))?;
    let built = build(
        (&place, &manifest),
        &building,
        (ledger.as_ref(), keys.as_ref()),
        options,
        rules,
    );
    let carried = built.and_then(|restored| {
        match &ledger {
            Some(ledger) if !is_there => ledger.read_again()?.carry_to(&own)?,
            _ => {}
        }
        write_result(&building, &restored)?;
        Ok(restored)
    });
    let restored = match carried {
        Ok(restored) => restored,
        Err(error) => {
            // The unfinished folder is useless. Destroy its keys, because they may open files with rows of people who
            // were erased after the snapshot.
            if let Err(error) = discard_keys(&building) {
                tracing::warn!(%error, "keys of an unfinished restore stay");
            }
            let _ = remove_building(&building, MARK);
            return Err(error);
        }
    };
    show(&building, data)?;
    drop(reserved);
    Ok(restored)
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

/// Ends a restore of this snapshot that was killed after all parts were in their places, and returns its result.
/// Returns `None` if there is none.
fn end_killed(data: &Path, id: &str) -> Result<Option<Restored>, BackupError> {
    let building = data.join(RESTORING);
    let Ok(text) = private::read(&building.join(RESULT)) else {
        return Ok(None);
    };
    let restored = serde_json::from_slice::<Restored>(&text).ok();
    let Some(restored) = restored.filter(|restored| restored.id == id && data.join(CATALOG).exists()) else {
        return Ok(None);
    };
    remove_building(&building, RESULT)?;
    Ok(Some(restored))
}

/// Writes down the result of a restore, durably.
fn write_result(building: &Path, restored: &Restored) -> Result<(), BackupError> {
    let path = building.join(RESULT);
    let write = || -> std::io::Result<()> {
        let mut file = private::options().write(true).create(true).open(&path)?;
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(restored)?)?;
        file.sync_all()
    };
    write().map_err(BackupError::io("write", &path))?;
    sync_folder(building)
}

/// Marks the subfolder as one that a restore has made.
fn mark(building: &Path) -> Result<(), BackupError> {
    let path = building.join(MARK);
    let made = private::options().write(true).create(true).open(&path);
    made.map_err(BackupError::io("write", &path))?;
    sync_folder(building)
}

/// Whether a restore has made the subfolder `restoring` of `data`, which has entries with these names. A restore that
/// was killed before it made the mark, or after it removed the mark, leaves the subfolder empty and alone.
fn is_ours(data: &Path, names: &[OsString]) -> bool {
    let building = data.join(RESTORING);
    if !building.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return false;
    }
    let is_marked = building
        .join(MARK)
        .symlink_metadata()
        .is_ok_and(|found| found.is_file());
    let is_empty = || std::fs::read_dir(&building).is_ok_and(|mut entries| entries.next().is_none());
    is_marked || names.len() == 1 && is_empty()
}

/// Returns the names of the files and folders in `data`, except the lock. If there are any, they must be the remains of
/// a killed restore: its folder `restoring` is among them, and no catalog. Otherwise returns an error.
fn left_behind(data: &Path) -> Result<Vec<OsString>, BackupError> {
    let entries = match std::fs::read_dir(data) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(BackupError::io("read", data))?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names: Vec<_> = names.collect::<Result<_, _>>().map_err(BackupError::io("read", data))?;
    names.retain(|name| name != LOCK);
    let was_restoring = is_ours(data, &names) && !names.iter().any(|name| name == CATALOG);
    if !names.is_empty() && !was_restoring {
        return Err(BackupError::Folder {
            path: data.to_owned(),
            what: "is not empty; a backup is restored into an empty folder",
        });
    }
    Ok(names)
}

/// Removes the keys, files and folders that a killed restore has left in `data`.
fn clear(data: &Path) -> Result<(), BackupError> {
    if left_behind(data)?.is_empty() {
        return Ok(());
    }
    // Destroy the keys that the killed restore has left. They may open files with rows of people who were erased after
    // the snapshot.
    discard_keys(&data.join(RESTORING))?;
    discard_keys(data)?;
    let mut names = left_behind(data)?;
    // Remove the folder `restoring` last, because the next restore recognizes the remains by it.
    names.sort_by_key(|name| name == RESTORING);
    for name in names {
        let path = data.join(&name);
        if name == RESTORING {
            remove_building(&path, MARK)?;
            continue;
        }
        remove(&path)?;
    }
    Ok(())
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

/// Moves the parts of the built folder to their places, the catalog last.
fn show(building: &Path, data: &Path) -> Result<(), BackupError> {
    let entries = std::fs::read_dir(building).map_err(BackupError::io("read", building))?;
    for entry in entries {
        let name = entry.map_err(BackupError::io("read", building))?.file_name();
        let stays = [LOCK, LEDGER, MARK, RESULT].iter().any(|known| name == *known);
        if stays || name.to_string_lossy().starts_with(CATALOG) {
            continue;
        }
        let (from, to) = (building.join(&name), data.join(&name));
        std::fs::rename(&from, &to).map_err(BackupError::io("write", &to))?;
    }
    sync_folder(data)?;
    let to = data.join(CATALOG);
    std::fs::rename(building.join(CATALOG), &to).map_err(BackupError::io("write", &to))?;
    sync_folder(data)?;
    remove_building(building, RESULT)
}

/// Removes the subfolder. The file `last` goes last, because the next restore recognizes the subfolder by it.
fn remove_building(building: &Path, last: &str) -> Result<(), BackupError> {
    let entries = std::fs::read_dir(building).map_err(BackupError::io("read", building))?;
    for entry in entries {
        let path = entry.map_err(BackupError::io("read", building))?.path();
        if path.file_name().is_some_and(|name| name == last) {
            continue;
        }
        remove(&path)?;
    }
    match std::fs::remove_dir_all(building) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(BackupError::io("remove", building)(error)),
        _ => Ok(()),
    }
}

/// Removes a file, or a folder with all that is in it. Of a link, removes the link alone.
fn remove(path: &Path) -> Result<(), BackupError> {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let removed = if is_folder {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    removed.map_err(BackupError::io("remove", path))
}
