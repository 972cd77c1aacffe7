//! References, and values from other sources.
//!
//! Decides which resource of the consent a reference means, and what the copies of one practitioner, organization or
//! location gain from each other. A target in the record's own source comes before one in another source. The source's
//! own text stays: a reference to a contained resource in an extension, a conditional reference as an identifier.
//! Nothing is fetched here.

mod edit;
mod facts;
mod identifiers;
mod index;
mod knowledge;
mod names;

pub(super) use edit::edit;
pub use facts::Facts;
