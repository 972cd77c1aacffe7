//! One attachment of a job: what is known before it is fetched, the fetched file, and the result.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// What is known about an attachment before it is fetched.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    pub(super) source_id: String,
    /// The attachment's media type, from the first record that states one.
    pub(super) content_type: Option<String>,
    /// `Type/id` of the records that refer to the attachment, the first one first.
    pub(super) records: Vec<String>,
    /// One digest for each record that refers to the attachment. It covers the record's name, the record's version, and
    /// the record's description of the attachment.
    pub(super) said: BTreeSet<[u8; 32]>,
}

impl Wanted {
    /// Returns one digest of all that records say about the attachment. As long as this digest stays the same, the
    /// attachment counts as unchanged.
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

/// What became of one attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The attachment is in the lake, or the commit adds it. Contains the length and the SHA-1 of its bytes, if they
    /// are known.
    Here(Option<(u64, [u8; 20])>),
    /// The attachment stays at the source.
    Away,
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
