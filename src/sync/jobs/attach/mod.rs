//! Attachments of a job's records: documents and Binaries. The job fetches them after all records. Then it rewrites the
//! records, so that they refer to the fetched files.
//!
//! This module decides which attachments are fetched, which count as unchanged, and how addresses change. `commit` adds
//! the rows and files to the lake together with the records, in one snapshot. Documents outside the source's realm stay
//! at the source.

mod attachment;
mod binary;
pub(super) mod download;
mod fetch;
mod find;
mod rewrite;
mod run;

pub(in crate::sync) use binary::{Json, of_json};
pub(super) use run::{Attached, Whose, attach};
