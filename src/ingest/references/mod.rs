//! References: their targets in a document, in the input and in the lake.

pub(super) mod condition;
pub(super) mod identifiers;
pub(super) mod known;
pub(super) mod late;
pub(super) mod library;
pub(super) mod links;
pub(super) mod rewrite;
