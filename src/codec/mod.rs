//! Physical plans as bytes, which another process over the same lake reads and runs to the same rows.
//!
//! A plan says what it asks for: scans by table, snapshot, scope, columns and filters; conditions by the text that they
//! were resolved from; views by their definitions. It is resolved and lowered again where it is read. DataFusion's own
//! operators travel as `datafusion-proto` has them. Bytes carry a signature of the lake, which is checked before
//! anything in them is read: a scope is part of its scan and nobody else can change it.

mod envelope;
mod error;
mod filters;
mod forms;
mod operators;
mod plan;
mod scan;

pub use error::CodecError;
pub use plan::PlanCodec;
