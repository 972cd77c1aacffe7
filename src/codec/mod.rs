//! Physical plans as bytes. Another process over the same lake reads and runs them to the same rows.
//!
//! The bytes hold scans as table, snapshot, scope, columns and filters; conditions as the text from which they were
//! resolved; and views as their definitions. The reader resolves and lowers them again. `datafusion-proto` writes
//! DataFusion's own operators. The lake signs the bytes, and the reader checks the signature first. A scope is part of
//! its scan, so nobody else can change it.

mod envelope;
mod error;
mod filters;
mod forms;
mod operators;
mod plan;
mod scan;
mod travel;

pub use error::CodecError;
pub use plan::PlanCodec;
