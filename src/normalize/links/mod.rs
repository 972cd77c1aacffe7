//! References, and values from other sources.
//!
//! Decides which resource of the consent a reference means, and what the copies of one practitioner, organization or
//! location gain from each other. A target in the record's own source comes before one in another source. A changed
//! reference keeps the source's own text: an extension has it if the source referred to a contained resource, and the
//! Reference's identifier has it if the reference was conditional. Nothing is fetched here.

mod edit;
mod facts;
mod identifiers;
mod index;
mod knowledge;
mod names;

pub(super) use edit::edit;
pub use facts::Facts;
