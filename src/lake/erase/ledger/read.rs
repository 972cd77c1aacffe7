//! Reads ledgers, creates them, and copies them to other paths.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

use super::super::super::error::LakeError;
use super::super::super::owners::owner::OwnerKey;
use super::super::super::store::disk::sync_folder;
use super::entering;
use super::hashes::{ErasedSince, Keyer, hexadecimal, lake_id};
use super::lines::{Entered, Entry, Lines, WAY_OUT, not_the_one};
use crate::private;

/// The state of a ledger at one moment. A ledger only grows, so its later states begin with the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerState {
    /// The ledger's id.
    pub ledger: String,
    /// The ledger's length in bytes.
    pub bytes: u64,
    /// The SHA-256 of the ledger's bytes, as hexadecimal digits.
    pub sha256: String,
}

/// The contents of a ledger whose lines are all complete and have the right checksums.
#[derive(Debug)]
pub struct Ledger {
    pub(super) path: PathBuf,
    pub(super) lines: Lines,
}

impl Ledger {
    /// Reads a ledger. Returns `None` if there is no file, and an error if a line is wrong, even if it is only the last
    /// one.
    pub fn read(path: &Path) -> Result<Option<Ledger>, LakeError> {
        let Some(lines) = read_lines(path)? else {
            return Ok(None);
        };
        if lines.torn.is_empty() {
            let path = path.to_owned();
            Ok(Some(Ledger { path, lines }))
        } else {
            Err(torn(path, &lines))
        }
    }

    /// Reads a ledger, or creates it if there is none. If two processes create it at the same time, both get the same
    /// ledger.
    pub fn read_or_create(path: &Path) -> Result<Ledger, LakeError> {
        if let Some(ledger) = Ledger::read(path)? {
            return Ok(ledger);
        }
        create(path)?;
        Ledger::read(path)?.ok_or_else(|| not_the_one(path, "is missing"))
    }

    /// Copies the ledger to another path. If a file exists there, it must be a copy of this ledger. Then the lines that
    /// it lacks are added. If a killed process has left a part of one of these lines, the line is completed.
    pub fn carry_to(&self, path: &Path) -> Result<(), LakeError> {
        if !path.try_exists().map_err(LakeError::io("find", path))? {
            return publish(path, &self.lines.bytes);
        }
        let of_else = || LakeError::Ledger {
            path: path.to_owned(),
            what: "is the ledger of something else".to_owned(),
        };
        let begins = |there: &[u8]| {
            if there.starts_with(&self.lines.bytes) {
                Ok(true)
            } else if self.lines.bytes.starts_with(there) {
                Ok(false)
            } else {
                Err(of_else())
            }
        };
        if begins(&read_bytes(path)?.unwrap_or_default())? {
            return Ok(());
        }
        let mut file = open_locked(path)?;
        let there = entering::read_completed(path, &mut file)?;
        if begins(&there)? {
            return Ok(());
        }
        entering::append(path, &mut file, there.len() as u64, &self.lines.bytes[there.len()..])
    }

    /// Reads the ledger again, with the entries that were added meanwhile. A missing file is an error.
    pub fn read_again(&self) -> Result<Ledger, LakeError> {
        Ledger::read(&self.path)?.ok_or_else(|| not_the_one(&self.path, "is missing"))
    }

    /// Returns the ledger's id.
    pub fn id(&self) -> &str {
        &self.lines.head.ledger
    }

    /// Returns the path of the ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what the catalog of the lake with this owner key may record of the ledger.
    pub(in crate::lake) fn entered(&self, key: OwnerKey) -> Entered {
        self.lines.entered(&lake_id(key))
    }

    /// Returns an error if the ledger lacks entries that the catalog of the lake with this owner key has recorded.
    pub(in crate::lake) fn check_has(&self, key: OwnerKey, known: &Entered) -> Result<(), LakeError> {
        self.lines.check_has(&self.path, &lake_id(key), known)
    }

    /// Returns the ledger's current state.
    pub fn state(&self) -> LedgerState {
        LedgerState {
            ledger: self.lines.head.ledger.clone(),
            bytes: self.lines.bytes.len() as u64,
            sha256: sha256(&self.lines.bytes),
        }
    }

    /// Whether this is the ledger that `state` describes, or a later version of it.
    pub fn goes_on_from(&self, state: &LedgerState) -> bool {
        let length = usize::try_from(state.bytes).ok();
        let begun = length.and_then(|length| self.lines.bytes.get(..length));
        self.lines.head.ledger == state.ledger && begun.is_some_and(|begun| sha256(begun) == state.sha256)
    }

    /// Whether anything was erased from a lake after its erasure with this number. `lake` comes from [`lake_id`].
    pub(crate) fn has_later(&self, lake: &str, number: u64) -> bool {
        self.lines.of(lake).any(|(entry, _)| entry.number > number)
    }

    /// Returns the hashes of everything that was erased from a lake after its erasure with this number.
    pub fn since(&self, key: OwnerKey, number: u64) -> ErasedSince {
        self.erased(key, number, |entry| entry.number > number)
    }

    pub(super) fn erased(&self, key: OwnerKey, number: u64, is_later: impl Fn(&Entry) -> bool) -> ErasedSince {
        let keyer = Keyer::new(key, &self.lines.salt);
        let own = self.lines.of(&keyer.lake).map(|(entry, _)| entry);
        let later: Vec<&Entry> = own.filter(|entry| is_later(entry)).collect();
        ErasedSince {
            rows: later.iter().flat_map(|entry| entry.rows.iter().cloned()).collect(),
            newest: later.iter().map(|entry| entry.number).max().unwrap_or(number),
            keyer,
        }
    }
}

/// Reads the lines of a ledger. Returns `None` if there is no file.
pub(super) fn read_lines(path: &Path) -> Result<Option<Lines>, LakeError> {
    read_bytes(path)?.map(|bytes| Lines::check(path, bytes)).transpose()
}

/// Reads a ledger's file while no process writes it. So an incomplete line is one that a killed process has left. If
/// that process has noted the line beside the ledger, the returned bytes have the whole line.
fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, LakeError> {
    let mut file = match private::options().through_links().read(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(LakeError::io("read", path))?,
    };
    match file.lock_shared() {
        // A copy may be on a file system without locks. Then nobody can write it as a ledger.
        Err(error) if error.kind() == ErrorKind::Unsupported => {}
        locked => locked.map_err(LakeError::io("lock", path))?,
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(LakeError::io("read", path))?;
    entering::completed(path, bytes).map(Some)
}

/// Creates an empty ledger, unless the file exists.
pub(super) fn create(path: &Path) -> Result<(), LakeError> {
    let mut salt = [0u8; 32];
    let no_random = |_| LakeError::io("make", path)(std::io::Error::other("the system gave no random numbers"));
    aws_lc_rs::rand::fill(&mut salt).map_err(no_random)?;
    let head = Lines::begin(uuid::Uuid::new_v4().to_string(), &salt).map_err(LakeError::io("write", path))?;
    publish(path, &head)
}

/// Returns the error for a ledger with an incomplete last line.
pub(super) fn torn(path: &Path, lines: &Lines) -> LakeError {
    let line = lines.torn_line();
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!(
            "is damaged: its last line, line {line}, is incomplete or differs from its checksum; if a process was killed while it wrote that line, `tabularium backup` of its lake mends it, else {WAY_OUT}"
        ),
    }
}

/// Opens a ledger for writing and locks it. Waits for other writers.
pub(super) fn open_locked(path: &Path) -> Result<File, LakeError> {
    let file = private::options()
        .through_links()
        .read(true)
        .write(true)
        .open(path)
        .map_err(LakeError::io("open", path))?;
    file.lock().map_err(LakeError::io("lock", path))?;
    Ok(file)
}

/// Creates the file with all these bytes in one step, unless it exists.
fn publish(path: &Path, bytes: &[u8]) -> Result<(), LakeError> {
    let draft = path.with_added_extension(format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0));
    let write = || -> std::io::Result<()> {
        let mut file = private::options().write(true).create_new(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => std::fs::rename(&draft, path),
            _ => Ok(()),
        }
    };
    let written = write();
    let _ = std::fs::remove_file(&draft);
    written.map_err(LakeError::io("write", path))?;
    sync_folder(path.parent().unwrap_or(Path::new("/")))
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}
