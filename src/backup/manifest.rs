//! The manifest of a snapshot: which files it has, and what of the lake's history it goes with.

use std::path::{Component, Path};

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::error::BackupError;
use crate::lake::erase::ledger::LedgerState;

/// The version of the form of manifests and of the folder of backups.
const LAYOUT: u32 = 1;

/// A file of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// The path below the data folder, with `/`.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 as hexadecimal digits, under which it is in the folder of backups.
    pub sha256: String,
}

/// The content of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    layout: u32,
    /// Its name, which is the time it was taken at.
    pub id: String,
    /// The program that wrote it.
    pub program: String,
    /// The lake's name. Each lake has its own folder of backups.
    pub lake: String,
    /// The lake's newest snapshot.
    pub snapshot: u64,
    /// Which erasures are out of it: the count of the lake's erasures.
    pub erasures: u64,
    /// Whether its files hold rows that were being erased.
    pub is_erasing: bool,
    /// How far the ledger of erasures had come.
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
            is_erasing: false,
            ledger,
            files: Vec::new(),
        }
    }

    /// Bytes of all of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Its bytes: one line of JSON, then one with the SHA-256 of it.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        let sum = hexadecimal(digest::digest(&digest::SHA256, &bytes).as_ref());
        bytes.extend_from_slice(sum.as_bytes());
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The manifest in a file.
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
        match manifest.files.iter().all(plain) {
            true => Ok(manifest),
            false => Err(damaged("names a file that is none of a data folder")),
        }
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
