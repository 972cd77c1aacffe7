//! Results as CSV, JSON, NDJSON or Parquet. Decides the text form of values of Arrow's types. Lists and structs are
//! JSON in CSV, too.

mod cells;
mod plain;
mod writer;

pub use writer::Writer;
