//! Attached documents: the kind of each, and how it becomes part of the written document.
//!
//! No attachment is dropped. If an attachment cannot be shown, a note gives the reason, and the original is embedded in
//! the file.
//!
//! Invariant: whatever the bytes of an attachment are, adding it ends, takes memory in proportion to them, and leaves a
//! document that can be finished.

mod attribute;
mod block;
mod cda;
mod charset;
mod html;
mod image;
mod kind;
mod narrative;
mod original;
mod rtf;
mod show;
mod span;

pub use show::{Attachment, Outcome};
