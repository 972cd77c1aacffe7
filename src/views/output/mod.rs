//! Writes rows as text or Parquet. Decides how values look in each format, and does not know where rows come from.

pub(super) mod assembly;
mod cell;
mod csv;
mod format;
mod json;
mod parquet;
pub(super) mod stop;
mod text;
mod typed;
pub(super) mod write;

pub use format::Format;
pub(super) use parquet::ParquetWriter;
pub(super) use text::TextFormat;
pub(super) use typed::{schema as typed_schema, typed};
