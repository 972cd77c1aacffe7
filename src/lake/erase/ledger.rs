//! The ledger of erasures: a file outside the data folder. It lists what was erased, so that a restored backup does
//! not bring erased people back.
//!
//! The first backup creates the ledger and records its id in the catalog. From then on each erasure is entered before
//! the catalog forgets it (`enter`). If the ledger is not at its path, no erasure of the lake finishes.
//!
//! An entry holds hashes and no ids. Each hash needs both the ledger's salt and the lake's owner key. So neither the
//! ledger alone nor a backup alone is enough to test a guess.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::{digest, hmac};
use chrono::{DateTime, SecondsFormat, Utc};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::super::catalog;
use super::super::clock::{Clock, SystemClock};
use super::super::error::LakeError;
use super::super::owners::owner::OwnerKey;
use super::super::owners::scope::Mode;
use super::super::store::disk::sync_folder;
use super::super::store::folder::Folder;
use super::Erasure;
use crate::private;

/// The environment variable that names the ledger's file.
pub const VARIABLE: &str = "TABULARIUM_ERASURES";
/// The suffix that turns the name of the data folder into the name of the ledger.
const SUFFIX: &str = ".erasures";
/// The version of the file's format.
const LAYOUT: u32 = 1;
/// The ledger keeps only this many bytes of each hash: the first ones.
const HASH_BYTES: usize = 16;
/// Before an entry is added, this many bytes at the end of the ledger are searched for the same entry. If an older
/// entry is the same, it is not found and the ledger gets a duplicate, which does no harm.
const LOOK_BACK: u64 = 1 << 20;

/// Returns the path of the ledger of the lake in `dir`: the value of [`VARIABLE`], or the folder's own path with
/// `.erasures` appended.
pub fn place(dir: &Path) -> PathBuf {
    if let Some(named) = named() {
        return named;
    }
    let dir = std::fs::canonicalize(dir)
        .or_else(|_| std::path::absolute(dir))
        .unwrap_or_else(|_| dir.to_owned());
    let mut name = dir.into_os_string();
    name.push(SUFFIX);
    PathBuf::from(name)
}

fn named() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|named| !named.is_empty())?;
    std::path::absolute(named).ok()
}

/// The rows of one owner that an erasure covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whose<'a> {
    /// Imported rows that are filed under this Patient.
    Patient(&'a str),
    /// Rows that the syncs of this authorization stored.
    Authorization(&'a str),
}

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

#[derive(Debug, Serialize, Deserialize)]
struct Head {
    layout: u32,
    ledger: String,
    salt: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    lake: String,
    number: u64,
    at: String,
    rows: Vec<String>,
}

/// The contents of a ledger.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    head: Head,
    salt: Vec<u8>,
    entries: Vec<Entry>,
    /// The complete lines of the file.
    bytes: Vec<u8>,
}

impl Ledger {
    /// Reads a ledger. Returns `None` if there is no file.
    pub fn read(path: &Path) -> Result<Option<Ledger>, LakeError> {
        let mut bytes = match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(LakeError::io("read", path))?,
        };
        // Ignore an incomplete last line. Its writer was killed, or is still writing it, and no caller relies on it.
        bytes.truncate(memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1));
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let (head, salt) = head(lines.next().unwrap_or_default()).ok_or_else(|| unreadable(path, 1))?;
        let mut entries = Vec::new();
        for (at, line) in lines.enumerate() {
            entries.push(serde_json::from_slice(line).map_err(|_| unreadable(path, at + 2))?);
        }
        Ok(Some(Ledger {
            path: path.to_owned(),
            head,
            salt,
            entries,
            bytes,
        }))
    }

    /// Reads a ledger, or creates it if there is none. If two processes create it at the same time, both get the same
    /// ledger.
    pub fn read_or_create(path: &Path) -> Result<Ledger, LakeError> {
        if let Some(ledger) = Ledger::read(path)? {
            return Ok(ledger);
        }
        let mut salt = [0u8; 32];
        aws_lc_rs::rand::fill(&mut salt).map_err(|_| no_random(path))?;
        let head = Head {
            layout: LAYOUT,
            ledger: uuid::Uuid::new_v4().to_string(),
            salt: hexadecimal(&salt),
        };
        let mut line = serde_json::to_vec(&head).map_err(|error| LakeError::io("write", path)(error.into()))?;
        line.push(b'\n');
        publish(path, &line)?;
        Ledger::read(path)?.ok_or_else(|| unreadable(path, 1))
    }

    /// Copies the ledger to another path. If a file exists there, it must be a copy of this ledger. Then the lines that
    /// it lacks are added.
    pub fn carry_to(&self, path: &Path) -> Result<(), LakeError> {
        let Some(there) = Ledger::read(path)? else {
            return publish(path, &self.bytes);
        };
        if there.bytes.starts_with(&self.bytes) {
            return Ok(());
        }
        if !self.bytes.starts_with(&there.bytes) {
            return Err(LakeError::Ledger {
                path: path.to_owned(),
                what: "is the ledger of something else".to_owned(),
            });
        }
        let mut file = open(path)?;
        append(&mut file, there.bytes.len() as u64, &self.bytes[there.bytes.len()..])
            .map_err(LakeError::io("write", path))
    }

    /// Reads the ledger again, with the entries that were added meanwhile. A missing file is an error.
    pub fn read_again(&self) -> Result<Ledger, LakeError> {
        Ledger::read(&self.path)?.ok_or_else(|| not_the_one(&self.path, "is missing"))
    }

    /// Returns the ledger's id.
    pub fn id(&self) -> &str {
        &self.head.ledger
    }

    /// Enters the erasures that the catalog in `dir` has recorded and not finished. Older copies of the lake also have
    /// the rows of these erasures. A restored copy must lose the rows, even if the lake itself never finishes the
    /// erasures.
    pub fn enter_pending(&self, dir: &Path) -> Result<(), LakeError> {
        let (key, pending) = pending(dir)?;
        if pending.is_empty() {
            Ok(())
        } else {
            enter_at(&self.path, key, Some(self.id()), &pending, SystemClock.now())
        }
    }

    /// Returns the ledger's current state.
    pub fn state(&self) -> LedgerState {
        LedgerState {
            ledger: self.head.ledger.clone(),
            bytes: self.bytes.len() as u64,
            sha256: sha256(&self.bytes),
        }
    }

    /// Whether this is the ledger that `state` describes, or a later version of it.
    pub fn goes_on_from(&self, state: &LedgerState) -> bool {
        let length = usize::try_from(state.bytes).ok();
        let begun = length.and_then(|length| self.bytes.get(..length));
        self.head.ledger == state.ledger && begun.is_some_and(|begun| sha256(begun) == state.sha256)
    }

    /// Whether anything was erased from a lake after its erasure with this number. `lake` comes from [`lake_id`].
    pub(crate) fn has_later(&self, lake: &str, number: u64) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.lake == lake && entry.number > number)
    }

    /// Returns the hashes of everything that was erased from a lake after its erasure with this number.
    pub fn since(&self, key: OwnerKey, number: u64) -> ErasedSince {
        let keyer = Keyer::new(key, &self.salt);
        let own = self.entries.iter().filter(|entry| entry.lake == keyer.lake);
        let later: Vec<&Entry> = own.filter(|entry| entry.number > number).collect();
        ErasedSince {
            rows: later.iter().flat_map(|entry| entry.rows.iter().cloned()).collect(),
            newest: later.iter().map(|entry| entry.number).max().unwrap_or(number),
            keyer,
        }
    }
}

/// Returns the name of a lake in ledgers and backups. It reveals nothing about the owner key.
pub(crate) fn lake_id(key: OwnerKey) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key.bytes());
    hexadecimal(&hmac::sign(&key, b"lake").as_ref()[..HASH_BYTES])
}

/// The hashes of everything that was erased from a lake after the erasure whose number was given to [`Ledger::since`].
#[derive(Debug)]
pub struct ErasedSince {
    keyer: Keyer,
    rows: FxHashSet<String>,
    newest: u64,
}

impl ErasedSince {
    /// Whether nothing was erased after that erasure.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of the newest erasure that the ledger has of the lake. If there is none, returns the number
    /// that was given to `Ledger::since`.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether the rows of this owner that belong to `whose` were erased.
    pub fn has(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> bool {
        !self.is_empty() && self.rows.contains(&self.keyer.hash(mode, application, owner, whose))
    }
}

/// Enters erasures that a lake has recorded, durably and without duplicates. `id` is the ledger that the lake's backups
/// rely on. Returns [`LakeError::Ledger`] if that ledger is not at its path. Without an `id` there is no backup that
/// could bring people back. Then this function enters the erasures only if the ledger's file exists or [`VARIABLE`] is
/// set. If [`VARIABLE`] is set and the file is missing, it creates the file.
pub(in crate::lake) fn enter(
    dir: &Path,
    key: OwnerKey,
    id: Option<&str>,
    erasures: &[Arc<Erasure>],
    now: i64,
) -> Result<(), LakeError> {
    let path = place(dir);
    if id.is_none() && !path.try_exists().map_err(LakeError::io("find", &path))? {
        if named().is_none() {
            return Ok(());
        }
        Ledger::read_or_create(&path)?;
    }
    enter_at(&path, key, id, erasures, now)
}

fn enter_at(
    path: &Path,
    key: OwnerKey,
    id: Option<&str>,
    erasures: &[Arc<Erasure>],
    now: i64,
) -> Result<(), LakeError> {
    if id.is_some() && !path.try_exists().map_err(LakeError::io("find", path))? {
        return Err(not_the_one(path, "is missing"));
    }
    let mut file = open(path)?;
    let failed = |error| LakeError::io("write", path)(error);
    let head = read_head(&mut file).map_err(failed)?;
    let (head, salt) = head.ok_or_else(|| unreadable(path, 1))?;
    if id.is_some_and(|id| id != head.ledger) {
        return Err(not_the_one(path, "is another one than that of the lake's backups"));
    }
    let (recent, length) = recent(&mut file).map_err(failed)?;
    let keyer = Keyer::new(key, &salt);
    let at = DateTime::<Utc>::from_timestamp_micros(now).unwrap_or_default();
    let mut lines = Vec::new();
    for erasure in erasures {
        let entry = keyer.entry(erasure, at);
        if !is_in(&recent, &entry) {
            serde_json::to_writer(&mut lines, &entry).map_err(|error| failed(error.into()))?;
            lines.push(b'\n');
        }
    }
    if lines.is_empty() {
        Ok(())
    } else {
        append(&mut file, length, &lines).map_err(failed)
    }
}

/// Opens a ledger for writing and locks it. Waits for other writers.
fn open(path: &Path) -> Result<File, LakeError> {
    let file = private::options()
        .through_links()
        .read(true)
        .write(true)
        .open(path)
        .map_err(LakeError::io("open", path))?;
    file.lock().map_err(LakeError::io("lock", path))?;
    Ok(file)
}

/// Whether an entry is in these lines. The erasure's number alone is not enough to decide this, because copies of a
/// lake give the same numbers to different erasures.
fn is_in(recent: &[u8], entry: &Entry) -> bool {
    let begin = format!(r#"{{"lake":"{}","number":{},"#, entry.lake, entry.number);
    memchr::memmem::find_iter(recent, begin.as_bytes()).any(|at| {
        let line = recent[at..].split(|byte| *byte == b'\n').next();
        let known = line.and_then(|line| serde_json::from_slice::<Entry>(line).ok());
        known.is_some_and(|known| known.rows == entry.rows)
    })
}

/// Returns the erasures that the catalog in `dir` has recorded and not finished. Also returns the lake's owner key.
fn pending(dir: &Path) -> Result<(OwnerKey, Vec<Arc<Erasure>>), LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    let read = || {
        let reader = catalog::open_reader(&folder)?;
        Ok((catalog::owner_key(&reader)?, catalog::erasures(&reader)?.pending))
    };
    read().map_err(|error: LakeError| error.of_catalog(folder.path()))
}

fn read_head(file: &mut File) -> std::io::Result<Option<(Head, Vec<u8>)>> {
    file.rewind()?;
    let mut begun = Vec::new();
    (&mut *file).take(1_024).read_to_end(&mut begun)?;
    let line = begun.split_inclusive(|byte| *byte == b'\n').next();
    Ok(line.and_then(head))
}

/// Returns the lines in the last [`LOOK_BACK`] bytes of the file, and the length in bytes of all complete lines. A line
/// that a killed process left incomplete does not count.
fn recent(file: &mut File) -> std::io::Result<(Vec<u8>, u64)> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LOOK_BACK);
    file.seek(SeekFrom::Start(from))?;
    let mut recent = Vec::new();
    (&mut *file).take(length - from).read_to_end(&mut recent)?;
    recent.truncate(memchr::memrchr(b'\n', &recent).map_or(0, |end| end + 1));
    let end = from + recent.len() as u64;
    Ok((recent, end))
}

fn append(file: &mut File, length: u64, lines: &[u8]) -> std::io::Result<()> {
    file.set_len(length)?;
    file.seek(SeekFrom::Start(length))?;
    let written = file.write_all(lines).and_then(|()| file.sync_all());
    if written.is_err() {
        // Remove a partially written line.
        file.set_len(length)?;
    }
    written
}

/// Creates the file with all these bytes in one step, unless it exists.
fn publish(path: &Path, bytes: &[u8]) -> Result<(), LakeError> {
    let draft = path.with_added_extension(format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0));
    let write = || -> std::io::Result<()> {
        let mut file = private::options().write(true).create_new(true).open(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => std::fs::rename(&draft, path),
            _ => Ok(()),
        }
    };
    let written = write();
    let _ = std::fs::remove_file(&draft);
    written.map_err(LakeError::io("write", path))?;
    sync_folder(path.parent().unwrap_or(Path::new("/")))
}

fn head(line: &[u8]) -> Option<(Head, Vec<u8>)> {
    let head: Head = serde_json::from_slice(line).ok()?;
    let digit = |at: usize| u8::from_str_radix(head.salt.get(at..at + 2)?, 16).ok();
    let salt: Option<Vec<u8>> = (0..head.salt.len()).step_by(2).map(digit).collect();
    let salt = salt.filter(|salt| head.layout == LAYOUT && salt.len() == 32)?;
    Some((head, salt))
}

/// Makes the hashes by which a ledger lists the erased rows of a lake.
#[derive(Debug)]
struct Keyer {
    key: hmac::Key,
    /// The name by which the ledger knows the lake. See [`lake_id`].
    lake: String,
}

impl Keyer {
    fn new(key: OwnerKey, salt: &[u8]) -> Keyer {
        let bytes = [key.bytes().as_slice(), salt].concat();
        Keyer {
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            lake: lake_id(key),
        }
    }

    fn hash(&self, mode: Mode, application: &str, owner: i64, whose: Whose<'_>) -> String {
        let (kind, id) = match whose {
            Whose::Patient(id) => ("patient", id),
            Whose::Authorization(id) => ("authorization", id),
        };
        let mut context = hmac::Context::with_key(&self.key);
        for text in [mode.schema(), application, kind, id] {
            context.update(&(text.len() as u64).to_le_bytes());
            context.update(text.as_bytes());
        }
        context.update(&owner.to_le_bytes());
        hexadecimal(&context.sign().as_ref()[..HASH_BYTES])
    }

    fn entry(&self, erasure: &Erasure, at: DateTime<Utc>) -> Entry {
        let scope = &erasure.scope;
        let mut rows = Vec::new();
        if let Some(patient) = scope.patient.as_deref() {
            for owner in &patient.owners {
                let patients = patient.patients.iter().map(|id| Whose::Patient(id));
                let authorizations = patient.authorizations.iter().map(|id| Whose::Authorization(id));
                let whose = patients.chain(authorizations);
                rows.extend(whose.map(|whose| self.hash(scope.mode, &scope.application, *owner, whose)));
            }
        }
        Entry {
            lake: self.lake.clone(),
            number: erasure.id,
            at: at.to_rfc3339_opts(SecondsFormat::Secs, true),
            rows,
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unreadable(path: &Path, line: usize) -> LakeError {
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!("cannot be read: line {line} is none of a ledger"),
    }
}

/// Returns the error for a ledger that is missing, or that is not the one on which the lake's backups rely.
fn not_the_one(path: &Path, how: &str) -> LakeError {
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!(
            "{how}: put the ledger of the lake's backups there, or name it with {VARIABLE}; if it is lost, the next `tabularium backup` makes a new one"
        ),
    }
}

fn no_random(path: &Path) -> LakeError {
    LakeError::io("make", path)(std::io::Error::other("the system gave no random numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lake::owners::scope::{PatientScope, Scope};

    fn erasure(id: u64, patients: &[&str], authorizations: &[&str]) -> Arc<Erasure> {
        let list = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        Arc::new(Erasure {
            id,
            scope: Arc::new(Scope {
                mode: Mode::Live,
                application: "local".into(),
                patient: Some(Arc::new(PatientScope {
                    patients: list(patients),
                    owners: vec![7, 8],
                    authorizations: list(authorizations),
                })),
            }),
            first_file: 1,
        })
    }

    fn has(since: &ErasedSince, owner: i64, whose: Whose<'_>) -> bool {
        since.has(Mode::Live, "local", owner, whose)
    }

    #[test]
    fn what_is_entered_is_known_again_and_stands_nowhere_in_clear() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
        let path = place(&dir);
        enter(&dir, key, None, &[erasure(1, &["nobody"], &[])], 0).unwrap();
        assert!(!path.exists(), "no backup was made yet");
        let empty = Ledger::read_or_create(&path).unwrap();
        let first = [
            erasure(5, &["ann-of-athlone"], &[]),
            erasure(6, &[], &["auth-one", "auth-two"]),
        ];
        enter(&dir, key, None, &first, 1_700_000_000_000_000).unwrap();
        enter(&dir, key, None, &first, 1_800_000_000_000_000).unwrap();
        let ledger = Ledger::read(&path).unwrap().unwrap();
        assert_eq!(ledger.entries.len(), 2, "each once");
        assert!(ledger.goes_on_from(&empty.state()) && !empty.goes_on_from(&ledger.state()));
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        assert!(!text.contains("ann-of") && !text.contains("auth-"), "{text}");

        let since = ledger.since(key, 4);
        assert_eq!(since.newest(), 6);
        assert!(has(&since, 7, Whose::Patient("ann-of-athlone")) && has(&since, 8, Whose::Authorization("auth-two")));
        assert!(
            !has(&since, 9, Whose::Patient("ann-of-athlone"))
                && !has(&since, 7, Whose::Authorization("ann-of-athlone"))
        );
        assert!(!since.has(Mode::Test, "local", 7, Whose::Patient("ann-of-athlone")));
        assert!(!since.has(Mode::Live, "other", 7, Whose::Patient("ann-of-athlone")));
        let later = ledger.since(key, 5);
        assert!(!has(&later, 7, Whose::Patient("ann-of-athlone")) && has(&later, 7, Whose::Authorization("auth-one")));
        let other = ledger.since(OwnerKey::random(), 0);
        assert!(other.is_empty() && other.newest() == 0, "of another lake");
    }

    /// Two copies of a lake give the same number to different erasures. A ledger that they share must get both.
    #[test]
    fn an_erasure_of_a_copy_with_the_same_number_is_entered_too() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
        let path = place(&dir);
        Ledger::read_or_create(&path).unwrap();
        for patient in ["a", "b", "a"] {
            enter(&dir, key, None, &[erasure(3, &[patient], &[])], 0).unwrap();
        }
        let ledger = Ledger::read(&path).unwrap().unwrap();
        assert_eq!(ledger.entries.len(), 2);
        let since = ledger.since(key, 2);
        assert!(has(&since, 7, Whose::Patient("a")) && has(&since, 7, Whose::Patient("b")));
    }

    /// If backups rely on a ledger, erasures must not be entered in another one, for example after the lake was
    /// moved.
    #[test]
    fn erasures_are_entered_in_the_ledger_of_the_backups_or_not_at_all() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
        let one = [erasure(1, &["a"], &[])];
        let refused = enter(&dir, key, Some("x"), &one, 0).unwrap_err().to_string();
        assert!(
            refused.contains("is missing") && refused.contains("TABULARIUM_ERASURES"),
            "{refused}"
        );
        assert!(!place(&dir).exists());
        let ledger = Ledger::read_or_create(&place(&dir)).unwrap();
        let refused = enter(&dir, key, Some("x"), &one, 0).unwrap_err().to_string();
        assert!(refused.contains("another one"), "{refused}");
        enter(&dir, key, Some(ledger.id()), &one, 0).unwrap();
        assert_eq!(Ledger::read(&place(&dir)).unwrap().unwrap().entries.len(), 1);
    }

    #[test]
    fn half_a_line_is_written_anew() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
        let path = place(&dir);
        Ledger::read_or_create(&path).unwrap();
        enter(&dir, key, None, &[erasure(1, &["a"], &[])], 0).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let state = Ledger::read(&path).unwrap().unwrap().state();
        for cut in 1..40 {
            std::fs::write(
                &path,
                [&whole[..], &whole[whole.len() - 90..whole.len() - cut]].concat(),
            )
            .unwrap();
            enter(&dir, key, None, &[erasure(2, &["b"], &[])], 0).unwrap();
            let ledger = Ledger::read(&path).unwrap().unwrap();
            assert!(ledger.entries.len() == 2 && ledger.goes_on_from(&state), "cut {cut}");
            assert!(has(&ledger.since(key, 1), 8, Whose::Patient("b")));
        }
    }

    #[test]
    fn a_ledger_is_carried_to_another_place_and_not_over_another_one() {
        let scratch = tempfile::tempdir().unwrap();
        let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
        let key = OwnerKey::random();
        Ledger::read_or_create(&place(&one))
            .unwrap()
            .carry_to(&place(&other))
            .unwrap();
        enter(&one, key, None, &[erasure(1, &["a"], &[])], 0).unwrap();
        let ledger = Ledger::read(&place(&one)).unwrap().unwrap();
        ledger.carry_to(&place(&other)).unwrap();
        ledger.carry_to(&place(&other)).unwrap();
        assert_eq!(Ledger::read(&place(&other)).unwrap().unwrap().state(), ledger.state());
        let third = scratch.path().join("third");
        Ledger::read_or_create(&place(&third)).unwrap();
        assert!(matches!(ledger.carry_to(&place(&third)), Err(LakeError::Ledger { .. })));
    }

    #[test]
    fn what_is_no_ledger_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("lake");
        for text in ["", "no ledger\n", "{\"layout\":2,\"ledger\":\"x\",\"salt\":\"00\"}\n"] {
            std::fs::write(place(&dir), text).unwrap();
            assert!(
                matches!(Ledger::read(&place(&dir)), Err(LakeError::Ledger { .. })),
                "{text}"
            );
            let entered = enter(&dir, OwnerKey::random(), None, &[erasure(1, &["a"], &[])], 0);
            assert!(matches!(entered, Err(LakeError::Ledger { .. })), "{text}");
        }
    }
}
