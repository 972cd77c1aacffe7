//! Parses a text to a syntax tree.

pub(super) mod ast;
pub(super) mod parse;
