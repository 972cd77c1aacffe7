//! The lake: one Parquet table per resource type and mode, a DuckLake catalog in SQLite, and the one door to the data.

mod catalog;
pub mod clock;
pub mod compact;
pub mod deletes;
mod erase;
mod error;
pub mod file;
mod folder;
mod info;
pub mod json;
pub mod layout;
mod lock;
pub mod owner;
pub mod picture;
pub(crate) mod private;
pub mod scan;
pub mod scope;
pub mod shape;
pub mod shred;
mod store;
mod transaction;
mod writer;
mod written;

pub use catalog::Expired;
pub use erase::{Erased, Intent};
pub use error::LakeError;
pub use folder::Folder;
pub use info::{LakeInfo, TableInfo};
pub use owner::OwnerKey;
pub use picture::{DataFile, DeleteFile, Picture, TablePicture};
pub use scan::{Locator, Person, Row, ScanRequest, ScopedTable};
pub use scope::{Mode, PatientScope, Scope};
pub use store::{Lake, LakeOptions, REFRESH};
pub use transaction::Transaction;
pub use writer::LakeWriter;
pub use written::{WrittenColumn, WrittenFile};
