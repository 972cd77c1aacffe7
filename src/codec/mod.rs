//! Physical plans as bytes. Another process over the same lake reads and runs them to the same rows.
//!
//! The bytes say what a plan asks for: scans by table, snapshot, scope, columns and filters; conditions by the text
//! that they were resolved from; views by their definitions. The reader resolves and lowers them again. DataFusion's
//! own operators are written by `datafusion-proto`. The lake signs the bytes, and the reader checks the signature
//! first: a scope is part of its scan, so nobody else can change it.

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
