//! Writes results as CSV, JSON, NDJSON or Parquet. Decides how a value of each Arrow type is written as text. In CSV,
//! lists and structs are JSON.

mod cells;
mod plain;
mod writer;

pub use writer::Writer;
