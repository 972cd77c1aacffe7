//! The manifest of a snapshot: its files, and the state of the lake.

use std::path::{Component, Path};

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::error::BackupError;
use crate::lake::erase::ledger::LedgerState;
use crate::private;

/// The version of the format of manifests and backup folders.
const LAYOUT: u32 = 1;
/// The path of the catalog below the data folder.
pub(super) const CATALOG: &str = "catalog.sqlite";

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// The path below the data folder, with `/` between its parts.
    pub path: String,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file in hexadecimal digits. It is the file's name in the folder of backups.
    pub sha256: String,
}

/// The contents of a snapshot: its files, and the state of the lake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    layout: u32,
    /// The id of the snapshot: the time when it was made.
    pub id: String,
    /// The version of the program that wrote the manifest.
    pub program: String,
    /// The id of the lake ([`crate::lake::erase::ledger`]). A folder of backups has snapshots of one lake only.
    pub lake: String,
    /// The id of the lake's newest snapshot.
    pub snapshot: u64,
    /// The lake's epoch when the backup was made, or the number of the newest erasure that was repeated in the snapshot
    /// later. The erasures up to this number are done in the snapshot's files, unless `is_erasing` is set.
    pub erasures: u64,
    /// The erasures up to this number are done in the copied store of the service. For a sealed lake it may be higher
    /// than `erasures`, because a backup has no keys and cannot rewrite the lake's files. Earlier programs did not
    /// write this number, so it can be 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub store_erasures: u64,
    /// Whether the copied lake has unfinished erasures. Then its files may still contain the rows of these erasures.
    pub is_erasing: bool,
    /// The state of the ledger of erasures when the manifest was written.
    pub ledger: LedgerState,
    /// The files, sorted by path.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// Returns a manifest without files.
    pub(super) fn new(id: String, lake: String, ledger: LedgerState) -> Manifest {
        Manifest {
            layout: LAYOUT,
            id,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            lake,
            snapshot: 0,
            erasures: 0,
            store_erasures: 0,
            is_erasing: false,
            ledger,
            files: Vec::new(),
        }
    }

    /// Returns the number of the newest erasure that was repeated in this snapshot. In a sealed lake, some erasures
    /// were repeated in the store only, because a backup has no keys.
    pub(super) fn cleaned_up_to(&self) -> u64 {
        self.erasures.max(self.store_erasures)
    }

    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the manifest as bytes: one line of JSON, and a line with the SHA-256 of the first line.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let sum = hexadecimal(digest::digest(&digest::SHA256, &bytes).as_ref());
        bytes.extend_from_slice(sum.as_bytes());
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a manifest from a file and checks it. Returns `BackupError::Damaged` if it is incomplete, or was changed,
    /// or has another version.
    pub(super) fn read(path: &Path) -> Result<Manifest, BackupError> {
        let bytes = private::read(path).map_err(BackupError::io("read", path))?;
        let damaged = |what: &str| BackupError::damaged(path, what);
        let end = memchr::memchr(b'\n', &bytes).ok_or_else(|| damaged("ends before its end"))?;
        let (line, sum) = bytes.split_at(end + 1);
        if sum.trim_ascii_end() != hexadecimal(digest::digest(&digest::SHA256, line).as_ref()).as_bytes() {
            return Err(damaged("differs from its checksum"));
        }
        let manifest: Manifest = serde_json::from_slice(line).map_err(|_| damaged("is no manifest"))?;
        if manifest.layout != LAYOUT {
            return Err(damaged("was written by a newer program"));
        }
        let plain = |file: &ManifestFile| {
            let path = Path::new(&file.path);
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            is_below && path.components().next().is_some() && is_sha256(&file.sha256)
        };
        if path.file_stem().is_none_or(|name| name != manifest.id.as_str()) {
            return Err(damaged("has the name of another snapshot"));
        }
        if manifest.files.iter().all(plain) {
            Ok(manifest)
        } else {
            Err(damaged("names a file that is none of a data folder"))
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text is a SHA-256 as [`hexadecimal`] writes it.
pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns a path with `/` between its parts.
pub(super) fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
