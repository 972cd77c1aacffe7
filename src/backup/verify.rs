//! Reads all files of a folder of backups and checks them.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::BackupError;
use super::files::Files;
use super::folder::BackupFolder;
use super::manifest::{Manifest, ManifestFile};

/// The result of checking a folder of backups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of snapshots in the folder.
    pub snapshots: u64,
    /// The number of files that the snapshots name. A file of several snapshots counts one time, and was read one time.
    pub files: u64,
    /// The total size of the files in bytes, as the manifests record it. A file of several snapshots counts one time.
    pub bytes: u64,
    /// The faults, a sentence for each.
    pub problems: Vec<String>,
}

/// Reads all files of all snapshots and compares them with their SHA-256.
pub fn verify(at: &Path) -> Result<Verified, BackupError> {
    let place = BackupFolder::open(at)?;
    let mut verified = Verified::default();
    let mut files: BTreeMap<String, (ManifestFile, Vec<String>)> = BTreeMap::new();
    for id in place.ids()? {
        verified.snapshots += 1;
        match Manifest::read(&place.path(&id)) {
            Ok(manifest) => {
                for file in manifest.files {
                    let sum = file.sha256.clone();
                    files.entry(sum).or_insert((file, Vec::new())).1.push(id.clone());
                }
            }
            Err(error) => verified.problems.push(error.to_string()),
        }
    }
    let stored = Files::new(&place);
    for (file, snapshots) in files.into_values() {
        verified.files += 1;
        verified.bytes += file.bytes;
        if let Err(error) = stored.check(&file) {
            let snapshots = snapshots.join(", ");
            verified.problems.push(format!("{error} (of {snapshots})"));
        }
    }
    Ok(verified)
}
