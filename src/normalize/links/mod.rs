//! References, and facts from other sources.
//!
//! Decides which resource of the consent a reference means, and what the copies of one practitioner, organization or
//! location gain from each other. A reference prefers a target in its own source. The source's own text stays: the
//! reference to a contained resource in an extension, a conditional one as an identifier. This room fetches nothing.

mod edit;
mod facts;
mod identifiers;
mod index;
mod knowledge;
mod names;

pub(super) use edit::edit;
pub use facts::Facts;
