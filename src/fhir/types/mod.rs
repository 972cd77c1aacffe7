//! The type system of R4: types and their elements, read from `schemas/types.tsv`.

pub mod facts;
pub(crate) mod name_table;
pub(super) mod type_def;
pub(super) mod type_table;
