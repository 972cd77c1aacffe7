//! Documents as PDF: what is put in is in the file, in order, on tagged pages, whatever it was.

mod attachments;
mod bounds;
mod content;
mod damaged;
mod document;
pub(crate) mod reading;
