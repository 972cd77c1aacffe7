//! Text to syntax tree.

pub(super) mod ast;
pub(super) mod parse;
