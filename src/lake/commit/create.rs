//! Creates an empty lake, and removes one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::super::catalog;
use super::super::error::LakeError;
use super::super::owners::owner::OwnerKey;
use super::super::seal::{KEYS_FILE, KekSource, Kind};
use super::super::store::disk::sync_folder;
use super::super::store::folder::Folder;
use super::super::store::open::{Lake, LakeOptions, folder};
use super::super::store::survey::is_ours;
use super::lock::WriteLock;
use super::mark::Mark;
use crate::private::{self, OwnFolder};

impl Lake {
    /// Opens the lake in `dir`, first making an empty one if there is none.
    pub fn open_or_create(dir: impl AsRef<Path>) -> Result<Lake, LakeError> {
        Lake::open_or_create_with(dir, LakeOptions::default())
    }

    /// Opens the lake in `dir` with the caller's options, first making an empty one if there is none.
    pub fn open_or_create_with(dir: impl AsRef<Path>, options: LakeOptions) -> Result<Lake, LakeError> {
        let dir = dir.as_ref();
        match Lake::open_with(dir, options.clone()) {
            // `create_with` also seals an open lake without commits, if the options ask for a sealed one.
            Err(LakeError::Missing(_) | LakeError::OtherKind { .. }) => match Lake::create_with(dir, options.clone()) {
                // Another process is making the lake, or has made it and already writes.
                Err(LakeError::Busy { .. }) if folder(dir)?.has_catalog() => Lake::open_with(dir, options),
                made => made,
            },
            opened => opened,
        }
    }

    /// Opens the lake in `dir`, or makes an empty one (and the folder). If the options ask for a sealed lake, an
    /// existing open lake without commits is sealed.
    pub fn create_with(dir: impl AsRef<Path>, options: LakeOptions) -> Result<Lake, LakeError> {
        let folder = folder(dir.as_ref())?;
        let is_sealed = options.sealed.unwrap_or(false);
        create(&folder, options.clock.now(), is_sealed.then_some(&options.kek))?;
        Lake::open_with(dir, options)
    }

    /// Removes this lake if it has no rows. Removes only what the creation of a lake makes, and no name in `before`,
    /// the names that the folder had before. Of the data folder, removes only files with names that this program gives,
    /// and empty folders. If an entry cannot be removed, an empty lake may remain. It does no harm. The caller holds
    /// the lake's lock.
    pub fn remove_empty(self, before: &[OsString]) {
        if !self.info().is_ok_and(|info| info.rows == 0) {
            return;
        }
        let Ok(folder) = OwnFolder::open(self.folder().path()) else {
            return;
        };
        let mut names = vec![
            "catalog.mark".to_owned(),
            "catalog.mark.new".to_owned(),
            "lock".to_owned(),
        ];
        for catalog in ["catalog.sqlite", "catalog.sqlite.new"] {
            names.extend(["", "-wal", "-shm", "-journal"].map(|end| format!("{catalog}{end}")));
        }
        if self.kind().has_keys() {
            names.extend(["", "-journal", ".new", ".new-journal"].map(|end| format!("{KEYS_FILE}{end}")));
        }
        let is_new = |name: &str| !before.iter().any(|known| known == name);
        for name in names.iter().filter(|name| is_new(name)) {
            let _ = folder.remove(name);
        }
        if is_new("data") {
            remove_data(&folder, OsStr::new("data"));
        }
    }
}

/// Removes our files from a folder of `parent`, and the folder if it is empty then. Follows no link.
fn remove_data(parent: &OwnFolder, name: &OsStr) {
    let Ok(folder) = parent.folder(name) else { return };
    for (name, kind) in folder.entries().unwrap_or_default() {
        match kind {
            private::Kind::Folder => remove_data(&folder, &name),
            _ if is_ours(Path::new(&name)) => drop(folder.remove(&name)),
            _ => {}
        }
    }
    let _ = parent.remove_folder(name);
}

/// Makes an empty lake unless there is one. With `sealing`, the source of the key-encryption key, the lake is sealed.
fn create(folder: &Folder, now: i64, sealing: Option<&KekSource>) -> Result<(), LakeError> {
    let data = folder.data();
    private::folder(&data).map_err(LakeError::io("create", &data))?;
    let _lock = WriteLock::take(folder)?;
    if !folder.has_catalog() {
        catalog::refuse_without_catalog(folder)?;
        let folder = &match sealing {
            Some(source) => folder.clone().seal(source)?,
            None => folder.clone(),
        };
        let key = OwnerKey::random();
        // Write the mark before the catalog exists. Otherwise a mark of an earlier lake could have higher numbers
        // than the new catalog, and writers would refuse the catalog.
        Mark::of_new(key).write(folder, None)?;
        catalog::create(folder, now, key)?;
    }
    if folder.has_catalog()
        && let Some(source) = sealing
    {
        seal_empty(folder, source)?;
    }
    sync_folder(folder.path())
}

/// Seals an open lake that has no commit yet. Does not change other lakes.
fn seal_empty(folder: &Folder, source: &KekSource) -> Result<(), LakeError> {
    let mut connection = catalog::open_writer(&folder.catalog())?;
    catalog::check_version(&connection, folder)?;
    if catalog::is_sealed(&connection)? || catalog::state(&connection)?.newest > 0 {
        return Ok(());
    }
    folder.clone().seal(source)?;
    // The change of the kind raises the epoch. So if this process is killed before it writes the mark, the mark is only
    // too low, and the next writer accepts the catalog.
    catalog::turn(&mut connection, Kind::Sealed)?;
    let before = Mark::read(folder);
    let mark = Mark::take(&connection, catalog::digest(&connection)?, before.as_ref())?;
    mark.write(folder, before.as_ref())
}
