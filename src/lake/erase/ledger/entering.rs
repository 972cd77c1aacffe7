//! The file beside a ledger in which a writer notes the lines that it is about to append. If the writer is killed in
//! the middle of a line, the next one completes the ledger from the note. Without the note, nobody could tell whose
//! erasure a few bytes of a line belong to.
//!
//! ```text
//! {"entering":1,"offset":1042,"bytes":371}
//! {"lake":"9b0c...","nth":1, ...
//! ```
//!
//! The first line has the length of the ledger before the writer, and the length of the new lines, which follow. The
//! note is durable before the ledger changes, and is removed afterwards. So if only a part of a note is there, the
//! ledger is as it was. All functions here require that the caller holds the ledger's lock.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::super::error::LakeError;
use super::super::super::store::disk::sync_folder;
use super::lines::Lines;
use crate::private;

/// The ending of the note's name, after the name of the ledger.
const SUFFIX: &str = ".entering";
/// The beginning of each note.
const BEGIN: &[u8] = br#"{"entering":1,"#;
/// The maximum length of a note's first line.
const MAX_HEAD: usize = 80;

/// The first line of a note.
#[derive(Serialize, Deserialize)]
struct Head {
    /// The version of the format.
    entering: u32,
    /// The length of the ledger before the lines.
    offset: u64,
    /// The length of the lines.
    bytes: usize,
}

/// A whole note.
struct Note {
    offset: u64,
    lines: Vec<u8>,
}

/// Returns the bytes of a ledger as the killed writer would have left them. `bytes` are those of the file. Changes
/// nothing if there is no note, or if the note does not continue the ledger.
///
/// Returns [`LakeError::Ledger`] if there is a file of another program in the place of the note.
pub(super) fn completed(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, LakeError> {
    let Some(note) = read(path)? else {
        return Ok(bytes);
    };
    let offset = usize::try_from(note.offset).unwrap_or(usize::MAX);
    let Some((before, torn)) = bytes.split_at_checked(offset) else {
        return Ok(bytes);
    };
    if torn.len() >= note.lines.len() || !note.lines.starts_with(torn) {
        return Ok(bytes);
    }
    let whole = [before, &note.lines].concat();
    // The checksums say whether the lines belong to this ledger.
    match Lines::check(path, whole.clone()) {
        Ok(lines) if lines.torn.is_empty() => Ok(whole),
        _ => Ok(bytes),
    }
}

/// Reads a ledger that is open for writing, and first completes it from the note.
pub(super) fn read_completed(path: &Path, file: &mut File) -> Result<Vec<u8>, LakeError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(LakeError::io("read", path))?;
    let there = bytes.len();
    let bytes = completed(path, bytes)?;
    if bytes.len() > there {
        let written = write_at(file, there as u64, &bytes[there..]);
        written.map_err(LakeError::io("write", path))?;
        let note = place(path)?;
        let _ = std::fs::remove_file(note);
    }
    Ok(bytes)
}

/// Appends lines to the ledger, whose complete lines have this length. Cuts off what follows these lines. The caller
/// has read the ledger with [`read_completed`], so a file in the place of the note is a note.
pub(super) fn append(path: &Path, file: &mut File, length: u64, lines: &[u8]) -> Result<(), LakeError> {
    let note = place(path)?;
    write(&note, length, lines)?;
    let written = file.set_len(length).and_then(|()| write_at(file, length, lines));
    let cut = match written {
        Ok(()) => Ok(()),
        // Remove a partially written line.
        Err(_) => file.set_len(length).and_then(|()| file.sync_all()),
    };
    // If the line could not be removed, the next writer completes it.
    if cut.is_ok() {
        let _ = std::fs::remove_file(note);
    }
    written.and(cut).map_err(LakeError::io("write", path))
}

fn write_at(file: &mut File, length: u64, lines: &[u8]) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(length))?;
    file.write_all(lines)?;
    file.sync_all()
}

/// Returns the path of the note of the ledger at `path`. If the ledger is a link, the note is beside the link's target,
/// so that all who use the ledger find it.
fn place(path: &Path) -> Result<PathBuf, LakeError> {
    let mut name: OsString = std::fs::canonicalize(path)
        .map_err(LakeError::io("find", path))?
        .into_os_string();
    name.push(SUFFIX);
    Ok(PathBuf::from(name))
}

/// Writes a note, durably. Replaces an earlier one.
fn write(note: &Path, offset: u64, lines: &[u8]) -> Result<(), LakeError> {
    let head = Head {
        entering: 1,
        offset,
        bytes: lines.len(),
    };
    let write = || -> std::io::Result<()> {
        let mut text = serde_json::to_vec(&head)?;
        text.push(b'\n');
        text.extend_from_slice(lines);
        let mut file = private::options().write(true).create(true).open(note)?;
        file.set_len(0)?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        if written.is_err() {
            let _ = std::fs::remove_file(note);
        }
        written
    };
    write().map_err(LakeError::io("write", note))?;
    sync_folder(note.parent().unwrap_or(Path::new("/")))
}

/// Reads the note of the ledger at `path`. Returns `None` if there is none, or only a part of one.
fn read(path: &Path) -> Result<Option<Note>, LakeError> {
    let note = place(path)?;
    let mut bytes = Vec::new();
    let read = private::open(&note).and_then(|mut file| file.read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(LakeError::io("read", &note))?,
    };
    match parse(&bytes) {
        Some(found) => Ok(found),
        None => Err(LakeError::Ledger {
            path: path.to_owned(),
            what: format!(
                "cannot be used, because {} beside it is no file of this program: move it away",
                note.display()
            ),
        }),
    }
}

/// Returns the note with these bytes, or `Some(None)` for a part of one. `None` for any other file.
fn parse(bytes: &[u8]) -> Option<Option<Note>> {
    let length = bytes.len().min(BEGIN.len());
    if bytes[..length] != BEGIN[..length] {
        return None;
    }
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return (bytes.len() <= MAX_HEAD).then_some(None);
    };
    let head: Head = serde_json::from_slice(&bytes[..end]).ok()?;
    let lines = &bytes[end + 1..];
    let note = |lines: &[u8]| Note {
        offset: head.offset,
        lines: lines.to_vec(),
    };
    match lines.len().cmp(&head.bytes) {
        std::cmp::Ordering::Less => Some(None),
        std::cmp::Ordering::Equal => Some(Some(note(lines))),
        std::cmp::Ordering::Greater => None,
    }
}
