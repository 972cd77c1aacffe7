//! The lake: one Parquet table per resource type and mode, a DuckLake catalog in SQLite, and the scans, which are the
//! only way to read them.

mod attachment;
mod catalog;
pub mod check;
pub mod clock;
mod commit;
pub mod compact;
mod convert;
pub mod deletes;
mod enclose;
pub mod erase;
mod error;
pub mod file;
pub mod owners;
pub mod scan;
pub mod scratch;
pub mod seal;
mod signature;
pub mod snapshot;
pub mod store;

pub use attachment::{
    Attached, AttachmentContent, AttachmentWriter, CONTENT_TAG, KeptAttachment, Range as AttachmentRange, Sums,
};
pub use catalog::{Expired, SnapshotSize};
pub use commit::mend::Mended;
pub use commit::transaction::{NewAttachment, Transaction};
pub use commit::writer::LakeWriter;
pub use commit::written::{WrittenColumn, WrittenFile};
pub use convert::{Conversion, Converted};
pub use erase::{
    Erased, ErasedAttachment, ErasedFile, ErasedIds, Evidence, Intent, LakeState, ReplacingFile, Searched,
};
pub use error::LakeError;
pub use owners::owner::OwnerKey;
pub use owners::scope::{Mode, PatientScope, Scope};
pub use scan::{Locator, Person, Row, ScanRequest, ScopedTable};
pub use seal::{FileKey, Kek, KekSource, KeyId, Keys, Kind, SealError};
pub use signature::SIGNATURE;
pub use snapshot::{DataFile, DeleteFile, Snapshot, TableSnapshot};
pub use store::folder::Folder;
pub use store::info::{LakeInfo, TableInfo};
pub use store::open::{Lake, LakeOptions, REFRESH};
pub use store::trust::{ClockTrust, MAX_SILENCE};
