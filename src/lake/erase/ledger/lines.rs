//! The lines of a ledger, and their checksums.
//!
//! ```text
//! {"layout":2,"ledger":"5b0f...","salt":"91c2...","sum":"e3b0..."}
//! {"lake":"9b0c...","nth":1,"number":5,"at":"2026-11-23T12:00:00Z","rows":["5f1e..."],"sum":"77aa..."}
//! ```
//!
//! `sum` is the SHA-256 of all bytes of the file before its own digits. So it covers all earlier lines. `nth` counts
//! the entries of one lake from 1, because several lakes may share a ledger.

use std::path::Path;

use aws_lc_rs::digest;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::super::super::error::LakeError;
use super::VARIABLE;
use super::hashes::hexadecimal;

/// The version of the file's format. Version 1 had no checksums.
pub(super) const LAYOUT: u32 = 2;
/// The text between the other members of a line and the digits of its checksum.
const SUM: &[u8] = br#","sum":""#;
/// The text after the digits.
const END: &[u8] = b"\"}\n";
/// The number of digits of a checksum.
const DIGITS: usize = 64;
/// The way out of a ledger that cannot be used, for messages.
pub(super) const WAY_OUT: &str = "put the newest copy of it there; if there is none, move this file away, and the next `tabularium backup` makes a new ledger";

/// The catalog's record of its ledger: the ledger's id, and the entries that the ledger must have. The transaction that
/// ends an erasure raises it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// The ledger's id.
    pub(in crate::lake) ledger: String,
    /// The number of this lake's entries that the ledger has at least.
    pub(in crate::lake) entries: u64,
    /// The checksum of the last of these entries. Empty if there are none.
    pub(in crate::lake) sum: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) layout: u32,
    pub(super) ledger: String,
    pub(super) salt: String,
}

/// An entry without its checksum: one erasure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) lake: String,
    pub(super) nth: u64,
    pub(super) number: u64,
    pub(super) at: String,
    pub(super) rows: Vec<String>,
}

/// The checked lines of a ledger.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) head: Head,
    pub(super) salt: Vec<u8>,
    /// The entries, each with its checksum.
    pub(super) entries: Vec<(Entry, String)>,
    /// The bytes of the checked lines.
    pub(super) bytes: Vec<u8>,
    /// The rest of the file: a last line that is incomplete, or whose checksum is wrong. Usually empty.
    pub(super) torn: Vec<u8>,
}

impl Lines {
    /// Checks the bytes of a ledger. A wrong last line is returned in [`Lines::torn`]. Any other wrong line is an
    /// error.
    pub(super) fn check(path: &Path, mut bytes: Vec<u8>) -> Result<Lines, LakeError> {
        let mut context = digest::Context::new(&digest::SHA256);
        let mut nth: FxHashMap<String, u64> = FxHashMap::default();
        let (mut head, mut entries, mut end) = (None, Vec::new(), 0);
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let checked = checked(&context, line);
            if at == 0 {
                let (text, _) = checked.ok_or_else(|| no_head(path, line))?;
                head = Some(read_head(path, &text)?);
            } else {
                let entry = checked.and_then(|(text, sum)| Some((serde_json::from_slice::<Entry>(&text).ok()?, sum)));
                let known = |entry: &Entry| nth.get(&entry.lake).copied().unwrap_or(0);
                match entry.filter(|(entry, _)| entry.nth == known(entry) + 1) {
                    Some((entry, sum)) => {
                        nth.insert(entry.lake.clone(), entry.nth);
                        entries.push((entry, sum));
                    }
                    // The caller decides about the last line.
                    None if end + line.len() == bytes.len() => break,
                    None => return Err(damaged(path, at + 1)),
                }
            }
            context.update(line);
            end += line.len();
        }
        let (head, salt) = head.ok_or_else(|| no_head(path, &[]))?;
        let torn = bytes.split_off(end);
        Ok(Lines {
            head,
            salt,
            entries,
            bytes,
            torn,
        })
    }

    /// Returns the lines of a new ledger: the head only.
    pub(super) fn begin(ledger: String, salt: &[u8]) -> std::io::Result<Vec<u8>> {
        let salt = hexadecimal(salt);
        let layout = LAYOUT;
        let head = Head { layout, ledger, salt };
        let mut context = digest::Context::new(&digest::SHA256);
        line(&mut context, &head).map(|(line, _)| line)
    }

    /// Returns the entries of a lake with their checksums.
    pub(super) fn of<'l>(&'l self, lake: &'l str) -> impl Iterator<Item = &'l (Entry, String)> {
        self.entries.iter().filter(move |(entry, _)| entry.lake == lake)
    }

    /// Returns what a catalog of this lake may record of the ledger now.
    pub(super) fn entered(&self, lake: &str) -> Entered {
        let last = self.of(lake).last();
        Entered {
            ledger: self.head.ledger.clone(),
            entries: last.map_or(0, |(entry, _)| entry.nth),
            sum: last.map_or_else(String::new, |(_, sum)| sum.clone()),
        }
    }

    /// Returns an error if the ledger lacks entries of a lake that its catalog has recorded.
    pub(super) fn check_has(&self, path: &Path, lake: &str, known: &Entered) -> Result<(), LakeError> {
        if known.ledger != self.head.ledger {
            return Err(not_the_one(path, "is another one than that of the lake's backups"));
        }
        let Some(last) = known.entries.checked_sub(1) else {
            return Ok(());
        };
        let (there, needed) = (self.of(lake).count(), known.entries);
        let is_same = |(_, sum): &(Entry, String)| *sum == known.sum;
        let what = match self.of(lake).nth(usize::try_from(last).unwrap_or(usize::MAX)) {
            Some(entry) if is_same(entry) => return Ok(()),
            Some(_) => {
                format!("is another copy: its entry {needed} of this lake is not the one that the lake has entered")
            }
            None => format!("is older than the lake: it has {there} erasures of the lake, and {needed} have ended"),
        };
        let what = format!("{what}; {WAY_OUT}");
        let path = path.to_owned();
        Err(LakeError::Ledger { path, what })
    }

    /// Whether the torn last line is of this lake. A few bytes do not say whose they are; then it is, if the ledger has
    /// no entry of another lake.
    pub(super) fn is_torn_of(&self, lake: &str) -> bool {
        let begin = format!(r#"{{"lake":"{lake}","#);
        let length = self.torn.len().min(begin.len());
        let is_alone = self.entries.iter().all(|(entry, _)| entry.lake == lake);
        self.torn[..length] == begin.as_bytes()[..length] && (length == begin.len() || is_alone)
    }

    /// Returns the lines for entries that follow these ones, and the checksum of the last of them.
    pub(super) fn next(&self, entries: &[Entry]) -> std::io::Result<(Vec<u8>, Option<String>)> {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(&self.bytes);
        let (mut lines, mut last) = (Vec::new(), None);
        for entry in entries {
            let (line, sum) = line(&mut context, entry)?;
            lines.extend(line);
            last = Some(sum);
        }
        Ok((lines, last))
    }

    /// The number of the first line that was not checked, from 1.
    pub(super) fn torn_line(&self) -> usize {
        self.entries.len() + 2
    }
}

/// Returns a value as a line, and the line's checksum. `context` has the bytes before the line, and gets those of the
/// line.
fn line(context: &mut digest::Context, value: &impl Serialize) -> std::io::Result<(Vec<u8>, String)> {
    let mut line = serde_json::to_vec(value)?;
    line.pop();
    line.extend_from_slice(SUM);
    let mut before = context.clone();
    before.update(&line);
    let sum = hexadecimal(before.finish().as_ref());
    line.extend_from_slice(sum.as_bytes());
    line.extend_from_slice(END);
    context.update(&line);
    Ok((line, sum))
}

/// Checks the checksum of a line. Returns the line as JSON without its checksum, and the checksum. `context` has the
/// bytes before the line.
fn checked(context: &digest::Context, line: &[u8]) -> Option<(Vec<u8>, String)> {
    let covered = line.len().checked_sub(END.len() + DIGITS)?;
    let (text, rest) = line.split_at(covered);
    let mut before = context.clone();
    before.update(text);
    let sum = hexadecimal(before.finish().as_ref());
    if rest.strip_suffix(END)? != sum.as_bytes() {
        return None;
    }
    let mut text = text.strip_suffix(SUM)?.to_vec();
    text.push(b'}');
    Some((text, sum))
}

fn read_head(path: &Path, text: &[u8]) -> Result<(Head, Vec<u8>), LakeError> {
    let head: Head = serde_json::from_slice(text).map_err(|_| damaged(path, 1))?;
    if head.layout != LAYOUT {
        return Err(of_version(path, head.layout));
    }
    let digit = |at: usize| u8::from_str_radix(head.salt.get(at..at + 2)?, 16).ok();
    let salt: Option<Vec<u8>> = (0..head.salt.len()).step_by(2).map(digit).collect();
    let salt = salt.filter(|salt| salt.len() == 32).ok_or_else(|| damaged(path, 1))?;
    Ok((head, salt))
}

/// Returns the error for a first line without a correct checksum. A ledger of another version is named as such.
fn no_head(path: &Path, line: &[u8]) -> LakeError {
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.layout != LAYOUT => of_version(path, head.layout),
        _ => damaged(path, 1),
    }
}

fn of_version(path: &Path, found: u32) -> LakeError {
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!(
            "has the format {found}, and this program reads {LAYOUT}: move it away, and the next `tabularium backup` makes a new ledger; earlier snapshots can then be restored with --accept-resurrection only"
        ),
    }
}

fn damaged(path: &Path, line: usize) -> LakeError {
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!("is damaged: line {line} differs from its checksum; {WAY_OUT}"),
    }
}

/// Returns the error for a ledger that is missing, or that is not the one on which the lake's backups rely.
pub(super) fn not_the_one(path: &Path, how: &str) -> LakeError {
    LakeError::Ledger {
        path: path.to_owned(),
        what: format!(
            "{how}: put the ledger of the lake's backups there, or name it with {VARIABLE}; if it is lost, the next `tabularium backup` makes a new one"
        ),
    }
}
