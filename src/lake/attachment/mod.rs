//! Attachments: documents that a source's records refer to. Each is a file beside the data files of the table
//! `Binary`. The row of `Binary` with the attachment's id describes it and has its owner.
//!
//! This module decides the format of such files (clear and sealed), which attachment the catalog names for a row, and
//! who may open one. An attachment is opened only through a row that the scope shows. `sync` decides which documents
//! are fetched.

mod content;
mod convert;
mod door;
mod names;
mod open;
mod recorded;
mod sealed;
mod trailer;
mod write;

pub use content::{AttachmentContent, CONTENT_TAG, Range};
pub(super) use convert::{convert, is_sealed_file, renamed};
pub use door::{Attached, KeptAttachment};
pub(super) use names::{TABLE, is_attachment, is_sealed_name, key_of, name_begin, new_name};
pub(super) use open::read_trailer;
pub(super) use recorded::{Contents, Mark, Recorded};
pub(super) use trailer::{Trailer, hexadecimal};
pub(super) use write::seal;
pub use write::{AttachmentWriter, Sums};
