//! Searches for what an erasure must have removed: erased ids in new files, and the person's attachments.

mod attachments;
mod file;
mod identifiers;
mod pages;

pub(super) use attachments::search_attachments;
pub(super) use file::search_file;
pub(in crate::lake) use identifiers::Identifiers;
