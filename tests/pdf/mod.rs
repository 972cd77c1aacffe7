//! Documents as PDF: the file has all content, in order, on tagged pages.

mod apart;
mod attachments;
mod bounds;
mod content;
mod damaged;
mod document;
mod hostile;
mod inner;
pub(crate) mod reading;
mod stitched;
mod whole;
