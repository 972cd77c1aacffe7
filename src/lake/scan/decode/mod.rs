//! Decodes Parquet: columns, dictionary codes and single pages of a row group.

pub(super) mod adapt;
pub(super) mod chunk;
pub(super) mod codes;
pub(super) mod columns;
pub(super) mod pages;
