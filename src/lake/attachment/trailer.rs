//! The trailer of an attachment file: the checksums of its pieces, and a description with its owner. With trailers
//! `tabularium check --adopt` can make a new catalog, and an erasure finds a person's files even if no catalog names
//! them. A sealed attachment has an encrypted trailer ([`super::sealed`]).

use serde::{Deserialize, Serialize};

use crate::lake::owners::scope::Scope;

/// Each piece of this many bytes has its own checksum.
pub(super) const BLOCK: usize = 64 << 10;
/// The last bytes of a clear attachment file.
pub(super) const MAGIC: &[u8; 8] = b"TABATT1\n";
/// The length of the last fields: number of pieces, length of the text, checksum, and `MAGIC`.
pub(super) const TAIL: u64 = 4 + 4 + 4 + 8;
/// The maximum length of the trailer's text, in bytes.
pub(super) const LONGEST_TEXT: u64 = 64 << 10;

/// The text of a trailer: the attachment's owner and a description of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Trailer {
    /// `live` or `test`.
    pub(in crate::lake) mode: String,
    pub(in crate::lake) application: String,
    pub(in crate::lake) owner: i64,
    pub(in crate::lake) authorization: String,
    /// The id of the row of `Binary`.
    pub(in crate::lake) binary: String,
    /// The length of the attachment's bytes.
    pub(in crate::lake) bytes: u64,
    /// The SHA-256 of the attachment's bytes, as hexadecimal digits. `sha1` has the same form.
    pub(in crate::lake) sha256: String,
    pub(in crate::lake) sha1: String,
    /// A hash of facts about the document. If the next sync computes the same hash, it does not fetch the document
    /// again.
    pub(in crate::lake) origin: String,
    /// The time of the first snapshot with the attachment, in microseconds since 1970.
    pub(in crate::lake) time: i64,
}

impl Trailer {
    /// Whether the attachment belongs to this scope's person: to one of the person's owners and to one of the
    /// authorizations. `false` if the scope is not that of a patient.
    pub(in crate::lake) fn is_of(&self, scope: &Scope) -> bool {
        let patient = scope.patient.as_ref();
        self.mode == scope.mode.schema()
            && *self.application == *scope.application
            && patient.is_some_and(|patient| {
                patient.owners.contains(&self.owner) && patient.authorizations.contains(&self.authorization)
            })
    }

    /// Returns the trailer of a clear file as bytes. `blocks` has the checksums of the pieces.
    pub(super) fn written(&self, blocks: &[u32]) -> Vec<u8> {
        let mut out: Vec<u8> = blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
        // This cannot fail, because all fields are strings and numbers.
        let text = serde_json::to_vec(self).unwrap_or_default();
        out.extend_from_slice(&text);
        out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        let sum = crc32fast::hash(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out.extend_from_slice(MAGIC);
        out
    }
}

/// Returns bytes as hexadecimal digits.
pub(in crate::lake) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
