//! The type of a stored resource that a read returns.

use bytes::Bytes;

/// A stored resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The resource's id.
    pub id: String,
    /// The JSON text, as stored.
    pub resource: Bytes,
    /// `meta.versionId`.
    pub version: i64,
    /// `meta.lastUpdated`, in microseconds since 1970.
    pub last_updated: i64,
}
