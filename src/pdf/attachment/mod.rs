//! Attached documents: the kind of each, and how it becomes part of the written document.
//!
//! Nothing is dropped. An attachment that cannot be shown gets a page with the reason, and the original is embedded in
//! the file.
//!
//! Invariant: whatever the bytes are, adding them ends, needs memory in proportion to them, and leaves a document that
//! can be finished.

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

pub use show::{Attachment, Outcome};
