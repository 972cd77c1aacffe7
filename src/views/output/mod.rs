//! Writes rows as text or Parquet. Decides how values look in each format, and does not know where rows come from.

pub(super) mod assembly;
mod cell;
mod csv;
mod decide;
mod format;
mod json;
mod parquet;
mod room;
mod spool;
pub(super) mod stop;
mod text;
mod typed;
pub(super) mod write;

pub use decide::WhyText;
pub use format::Format;
pub use parquet::TextColumn;
pub(super) use parquet::{ParquetWriter, Rest};
pub use room::SpoolRoom;
pub(super) use text::TextFormat;
pub(super) use typed::{fits, schema as typed_schema, typed};
