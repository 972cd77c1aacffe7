//! Attached documents: the kind of each, and how it becomes part of the written document.
//!
//! No attachment is dropped. An attachment that cannot be shown gets a page with the reason, and the original is
//! embedded in the file.
//!
//! Invariant: for any bytes, adding an attachment ends, its memory is proportional to them, and the document can still
//! be finished.

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
