//! One attachment of a job: the facts before it is fetched, the fetched file, and the result.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// The known facts about an attachment before it is fetched.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) source_id: String,
    /// Its type according to the first record that refers to it.
    pub(super) content_type: Option<String>,
    /// `Type/id` of that record.
    pub(super) record: String,
    /// A digest for each record that refers to it: of the record, its version, and its description of the attachment.
    pub(super) said: BTreeSet<[u8; 32]>,
}

impl Wanted {
    /// A digest of all descriptions of the content. While it is equal, the content counts as unchanged.
    pub(super) fn origin(&self) -> String {
        let mut hasher = Sha256::new();
        self.said.iter().for_each(|said| hasher.update(said));
        hexadecimal(&hasher.finalize())[..32].to_owned()
    }
}

/// A fetched file.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) path: PathBuf,
    pub(super) sums: crate::lake::Sums,
    pub(super) content_type: String,
}

/// The result of one attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is or will be in the lake: with its length and its SHA-1, if they are known.
    Here(Option<(u64, [u8; 20])>),
    /// It stays at the source.
    Away,
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
