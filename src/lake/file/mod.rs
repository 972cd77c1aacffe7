//! One Parquet file of a table: how rows lie in pages and row groups, what is compressed how, and which statistics it
//! has.
//!
//! It writes what it is given in the order it is given: sorting by (`owner`, `id`) is the caller's work, as is choosing
//! the path, making the file durable and committing it. It reads rows only to check them.

mod adapt;
mod checked;
mod checksums;
mod digest;
mod guard;
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
pub(in crate::lake) use guard::{Guard, Guarded};
pub use properties::{LAYOUT_VERSION_KEY, RESOURCE_TYPE_KEY};
pub(in crate::lake) use properties::{PAGE_ROWS, ROW_GROUP_ROWS};
pub(in crate::lake) use verify::check_digests;
pub use verify::{Verified, verify, verify_checksums};
pub(in crate::lake) use weight::row_bytes;
pub use writer::{FileWriter, write_file};
