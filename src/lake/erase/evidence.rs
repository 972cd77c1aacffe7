//! Evidence of an erasure: the files that it replaced, and the result of a search for the erased ids in the new files.
//! Evidence names no person. The catalog keeps it from the exchange of the files until the caller takes it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::identifiers::Identifiers;
use super::intent::Intent;
use crate::lake::owners::owner::OwnerKey;

/// The state of a lake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LakeState {
    /// The newest snapshot.
    pub snapshot: u64,
    /// How many times an erasure was recorded or finished.
    pub erasures: u64,
}

/// A data file that was rewritten or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedFile {
    /// Its path below `data/`.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// The file that replaces it. `None` if no rows were left.
    pub replaced_by: Option<ReplacingFile>,
    /// The type of its resources.
    #[serde(rename = "type")]
    pub resource_type: String,
    /// Erased rows, of all snapshots.
    pub rows: u64,
    /// How many of its erased rows were resources of the newest snapshot.
    pub resources: u64,
}

/// The file that replaced another one, read again from the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacingFile {
    /// Its path below `data/`.
    pub path: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Texts in its decoded columns that were searched for the erased ids. Only the same application's rows are
    /// searched.
    pub values: u64,
    /// How many of them contain such an id.
    pub found: u64,
}

/// The file of a removed attachment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedAttachment {
    /// Its path below `data/`.
    pub path: String,
    /// Length of the document.
    pub bytes: u64,
    /// The SHA-256 of the document, as hexadecimal digits. Empty if the key of a sealed document was lost before.
    pub sha256: String,
}

/// How many values were searched, and how many of them contain an id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// The number of searched values.
    pub values: u64,
    /// Values that contain an id.
    pub found: u64,
}

/// One result of an exchange of files for an erasure, as the catalog keeps it.
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
    /// The data files.
    pub files: Vec<ErasedFile>,
    /// The attachments.
    pub attachments: Vec<ErasedAttachment>,
    /// The number of searched ids.
    pub ids: u64,
    /// The result of the search in the catalog's texts.
    pub catalog: Searched,
    /// The result of the search among attachment files: how many were looked at, and how many belong to the person.
    pub attachment_files: Searched,
}

impl Evidence {
    /// Adds the evidence of another part of the same erasure.
    pub fn and(mut self, other: Evidence) -> Evidence {
        self.before = match (self.before, other.before) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.after = self.after.max(other.after);
        self.files.extend(other.files);
        self.attachments.extend(other.attachments);
        self.ids += other.ids;
        // Both parts searched the same catalog.
        self.catalog.values = self.catalog.values.max(other.catalog.values);
        self.catalog.found += other.catalog.found;
        self.attachment_files.values = self.attachment_files.values.max(other.attachment_files.values);
        self.attachment_files.found += other.attachment_files.found;
        self
    }

    /// The evidence of one erasure after a second search. It does not repeat the results of an interrupted search.
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

    /// Erased rows, of all snapshots.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }
}

/// The name under which the catalog keeps the evidence of an intent. Only the lake's key can tell which person it is
/// about.
pub(in crate::lake) fn subject(key: OwnerKey, intent: &Intent) -> String {
    let Intent {
        mode,
        application,
        patient,
    } = intent;
    format!("{:016x}", key.seal(&("erasure", mode, application, patient)))
}

/// The ids that a writer has erased, grouped by subject.
#[derive(Clone, Debug, Default)]
pub struct ErasedIds {
    pub(super) identifiers: Arc<Identifiers>,
    subjects: Vec<String>,
}

impl ErasedIds {
    /// The number of a subject. A new subject gets the next number.
    pub(super) fn number(&mut self, subject: &str) -> u32 {
        let known = self.subjects.iter().position(|known| known == subject);
        known.unwrap_or_else(|| {
            self.subjects.push(subject.to_owned());
            self.subjects.len() - 1
        }) as u32
    }

    /// The numbers of the subjects whose ids are in a cell of a database, without duplicates. If the column's name says
    /// that it holds Patients, a short id counts without its type.
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
