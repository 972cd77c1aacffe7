//! The manifest of a snapshot: its files, and the state of the lake.

use std::path::{Component, Path};

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::error::BackupError;
use crate::lake::erase::ledger::LedgerState;

/// The version of the format of manifests and backup folders.
const LAYOUT: u32 = 1;
/// The catalog's file.
pub(super) const CATALOG: &str = "catalog.sqlite";

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// The path below the data folder, with `/`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits, which is its name in the folder of backups.
    pub sha256: String,
}

/// The content of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    layout: u32,
    /// The snapshot's id: the time when it was made.
    pub id: String,
    /// The program that wrote it.
    pub program: String,
    /// The lake's id. Each lake has its own folder of backups.
    pub lake: String,
    /// The lake's newest snapshot.
    pub snapshot: u64,
    /// The lake's epoch. All erasures up to this number are done in the snapshot.
    pub erasures: u64,
    /// Erasures up to this number are done in the snapshot's copy of the store. For a sealed lake, it may be higher
    /// than `erasures`: a backup has no keys and cannot rewrite the lake's files. Earlier programs did not write this
    /// number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub store_erasures: u64,
    /// Whether an erasure was interrupted, so that its files may hold erased rows.
    pub is_erasing: bool,
    /// The state of the ledger of erasures.
    pub ledger: LedgerState,
    /// Its files, by path.
    pub files: Vec<ManifestFile>,
}

impl Manifest {
    /// A manifest without files.
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

    /// The number up to which every erasure is done, as far as that is possible without keys.
    pub(super) fn cleaned_up_to(&self) -> u64 {
        self.erasures.max(self.store_erasures)
    }

    /// The total bytes of the snapshot's files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// The manifest as bytes: one line of JSON, and a line with the SHA-256 of the first line.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let sum = hexadecimal(digest::digest(&digest::SHA256, &bytes).as_ref());
        bytes.extend_from_slice(sum.as_bytes());
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the manifest in a file.
    pub(super) fn read(path: &Path) -> Result<Manifest, BackupError> {
        let bytes = std::fs::read(path).map_err(BackupError::io("read", path))?;
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
            let is_sum = file.sha256.len() == 64 && file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_below && path.components().next().is_some() && is_sum
        };
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

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path with `/` between its parts.
pub(super) fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
