//! Attached documents: what kind each is, and how it becomes part of the document that is being written.
//!
//! Nothing is dropped. What cannot be shown gets a page that says so and why, with the original inside of the file.
//!
//! Invariant: whatever the bytes, adding them ends, in memory in proportion to them, and leaves a document that can be
//! finished.

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
