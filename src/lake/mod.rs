//! The lake: one Parquet table per resource type and mode, a DuckLake catalog in SQLite, and the one door to the data.

mod attachment;
mod catalog;
pub mod check;
pub mod clock;
pub mod compact;
mod convert;
mod copy;
pub mod deletes;
mod enclose;
mod erase;
mod error;
pub mod file;
mod folder;
pub mod image;
mod info;
pub mod ledger;
mod lock;
mod lost;
mod mark;
mod orphans;
pub mod owner;
pub mod picture;
pub(crate) mod private;
pub mod scan;
pub mod scope;
pub mod seal;
mod store;
mod survey;
mod trace;
mod transaction;
mod writer;
mod written;

pub use attachment::{
    Attached, AttachmentContent, AttachmentWriter, CONTENT_TAG, KeptAttachment, Range as AttachmentRange, Sums,
};
pub use catalog::Expired;
pub use convert::{Conversion, Converted};
pub use erase::{
    Erased, ErasedAttachment, ErasedFile, ErasedIds, Evidence, Intent, LakeStanding, ReplacingFile, Searched,
};
pub use error::LakeError;
pub use folder::Folder;
pub use info::{LakeInfo, TableInfo};
pub use owner::OwnerKey;
pub use picture::{DataFile, DeleteFile, Picture, TablePicture};
pub use scan::{Locator, Person, Row, ScanRequest, ScopedTable};
pub use scope::{Mode, PatientScope, Scope};
pub use seal::{FileKey, Kek, KekSource, KeyId, Keys, Kind, SealError};
pub use store::{Lake, LakeOptions, REFRESH};
pub use transaction::{NewAttachment, Transaction};
pub use writer::LakeWriter;
pub use written::{WrittenColumn, WrittenFile};
