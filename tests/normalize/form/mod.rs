//! The form of codes, references and required elements.

pub(super) mod codings;
pub(super) mod own_words;
pub(super) mod references;
pub(super) mod required;
