//! One Parquet file of a table: how pages and row groups are made, and which compression and statistics they have.
//!
//! The writer keeps rows in the order in which it gets them. The caller sorts them by (`owner`, `id`), chooses the
//! path, makes the file durable and commits it. The module also reads whole files and checks them. Requests read
//! through `scan`.

mod adapt;
mod checked;
mod checksums;
mod digest;
mod groups;
mod guard;
mod hybrid;
mod properties;
mod verify;
mod weight;
mod writer;

pub use adapt::adapt;
pub use checked::CheckedFile;
pub use checksums::CHECKSUMS_KEY;
pub(in crate::lake) use checksums::{Tail, seal, unsealed};
pub(crate) use digest::digest;
pub use digest::stored_digest;
pub(in crate::lake) use digest::{is_blank, restamped};
pub(in crate::lake) use groups::{ColumnChunk, CopiedColumn};
pub(in crate::lake) use guard::{Guard, Guarded};
pub(in crate::lake) use hybrid::{Part, encode, parts, varint};
pub use properties::{LAYOUT_VERSION_KEY, RESOURCE_TYPE_KEY};
pub(in crate::lake) use properties::{PAGE_ROWS, ROW_GROUP_ROWS};
pub(in crate::lake) use verify::check_digests;
pub use verify::{Verified, verify, verify_checksums};
pub(in crate::lake) use weight::row_bytes;
pub use writer::{FileWriter, write_file};
