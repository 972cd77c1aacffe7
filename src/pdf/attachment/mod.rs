//! Attached documents: the kind of each, and how it becomes part of the written document.
//!
//! No attachment is dropped. If an attachment cannot be shown, a note gives the reason, and the original is embedded in
//! the file.
//!
//! Invariant: whatever bytes an attachment has, adding it to a document always ends, and takes memory in proportion to
//! the bytes. The document can still be finished afterwards.

mod attribute;
mod block;
mod cda;
mod charset;
mod dimensions;
mod html;
mod image;
mod kind;
mod narrative;
mod original;
mod rtf;
mod show;
mod span;

pub use show::{Attachment, Outcome};
