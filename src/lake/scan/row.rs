//! A stored resource as it is read.

use bytes::Bytes;

/// A stored resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its JSON text, as answers copy it.
    pub resource: Bytes,
    /// `meta.versionId`.
    pub version: i64,
    /// `meta.lastUpdated`, in microseconds since 1970.
    pub last_updated: i64,
}
