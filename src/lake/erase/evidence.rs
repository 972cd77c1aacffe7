//! Evidence of an erasure: the files that it replaced, and the result of a search for the erased ids in the new files.
//! Evidence names no person. The catalog keeps it until the caller of the erasure calls
//! [`forget_evidence`](crate::lake::LakeWriter::forget_evidence).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::intent::Intent;
use super::search::Identifiers;
use crate::lake::owners::owner::OwnerKey;

/// The newest snapshot and the epoch of a lake at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LakeState {
    /// The id of the newest snapshot.
    pub snapshot: u64,
    /// The lake's epoch. It rises when an erasure is recorded, when files are exchanged in existing snapshots, and when
    /// the lake is sealed or unsealed.
    pub erasures: u64,
}

/// A data file that was rewritten or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedFile {
    /// The path of the file below `data/`.
    pub path: String,
    /// The SHA-256 of the file's bytes, in hexadecimal digits.
    pub sha256: String,
    /// The file that replaces this file. `None` if no row of this file was left in any snapshot.
    pub replaced_by: Option<ReplacingFile>,
    /// The type of the file's resources.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// The number of erased rows, of all snapshots.
    pub rows: u64,
    /// The number of erased rows that were resources of the newest snapshot.
    pub resources: u64,
}

/// The file that replaced another one. Its hash and the search results come from reading it again from the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacingFile {
    /// The path of the file below `data/`.
    pub path: String,
    /// The SHA-256 of the file's bytes, in hexadecimal digits.
    pub sha256: String,
    /// The number of strings in the file's columns that were searched for the erased ids. Only rows of the erasure's
    /// application count.
    pub values: u64,
    /// The number of searched strings that contain an erased id.
    pub found: u64,
}

/// The file of a removed attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedAttachment {
    /// The path of the file below `data/`.
    pub path: String,
    /// The length of the document in bytes.
    pub bytes: u64,
    /// The SHA-256 of the document, as hexadecimal digits. Empty if the document was sealed and its key was lost before
    /// the erasure.
    pub sha256: String,
}

/// The result of a search for erased ids: how many values were searched, and how many of them contain an erased id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// The number of searched values.
    pub values: u64,
    /// How many of the searched values contain an erased id.
    pub found: u64,
}

/// The evidence about one replaced or removed file, as the catalog keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) enum Entry {
    File(ErasedFile),
    Attachment(ErasedAttachment),
}

/// All evidence of a finished erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The state of the lake when the first files were exchanged. `None` if there was nothing to erase.
    pub before: Option<LakeState>,
    /// The state of the lake when this evidence was taken.
    pub after: LakeState,
    /// The data files that were rewritten or removed.
    pub files: Vec<ErasedFile>,
    /// The attachments that were removed.
    pub attachments: Vec<ErasedAttachment>,
    /// The number of erased ids for which the files and the catalog were searched.
    pub ids: u64,
    /// The result of the search in the texts of the catalog.
    pub catalog: Searched,
    /// The result of the search among attachment files. `values` is the number of files, and `found` is the number of
    /// files that belong to the person.
    pub attachment_files: Searched,
}

impl Evidence {
    /// Combines the evidence of two intents of the same request.
    pub fn and(mut self, other: Evidence) -> Evidence {
        self.before = match (self.before, other.before) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.after = self.after.max(other.after);
        self.files.extend(other.files);
        self.attachments.extend(other.attachments);
        self.ids += other.ids;
        // Both searches covered the same catalog and the same attachment files, so do not add up the numbers of
        // searched values.
        self.catalog.values = self.catalog.values.max(other.catalog.values);
        self.catalog.found += other.catalog.found;
        self.attachment_files.values = self.attachment_files.values.max(other.attachment_files.values);
        self.attachment_files.found += other.attachment_files.found;
        self
    }

    /// Combines the evidence of one erasure with the evidence of a second attempt, `newer`. A file or attachment that
    /// both have is listed only once. The search results are those of `newer`.
    pub fn again(mut self, newer: Evidence) -> Evidence {
        let known = |file: &ErasedFile| self.files.contains(file);
        let files: Vec<ErasedFile> = newer.files.into_iter().filter(|file| !known(file)).collect();
        let known = |one: &ErasedAttachment| self.attachments.contains(one);
        let attachments: Vec<ErasedAttachment> = newer.attachments.into_iter().filter(|one| !known(one)).collect();
        self.files.extend(files);
        self.attachments.extend(attachments);
        Evidence {
            before: self.before.or(newer.before),
            after: newer.after,
            ids: self.ids.max(newer.ids),
            catalog: newer.catalog,
            attachment_files: newer.attachment_files,
            ..self
        }
    }

    /// Returns the number of erased rows, of all snapshots.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }
}

/// Returns the subject of an intent: a keyed hash under which the catalog keeps the evidence. Without the lake's key
/// nobody can tell which person the evidence is about.
pub(in crate::lake) fn subject(key: OwnerKey, intent: &Intent) -> String {
    let Intent {
        mode,
        application,
        patient,
    } = intent;
    format!("{:016x}", key.seal(&("erasure", mode, application, patient)))
}

/// The ids that a writer has erased, grouped by intent.
#[derive(Clone, Debug, Default)]
pub struct ErasedIds {
    pub(super) identifiers: Arc<Identifiers>,
    subjects: Vec<String>,
}

impl ErasedIds {
    /// Returns the number of an intent's subject. A new subject gets the next number.
    pub(super) fn number(&mut self, subject: &str) -> u32 {
        let known = self.subjects.iter().position(|known| known == subject);
        known.unwrap_or_else(|| {
            self.subjects.push(subject.to_owned());
            self.subjects.len() - 1
        }) as u32
    }

    /// Returns the numbers of the intents whose ids are in a cell of a database, without duplicates. A short id counts
    /// if its type and a slash are in front of it, as in `Patient/a`. If the column's name contains `patient`, a
    /// Patient's short id counts without them, too.
    pub fn in_cell(&self, column: &str, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        self.identifiers.in_text(text, |whose| found.push(whose));
        if column.contains("patient") {
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-.".contains(letter));
            found.extend(words.filter_map(|word| self.identifiers.whose("Patient", word)));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
