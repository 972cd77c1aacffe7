//! Encodes physical plans as bytes. Another process over the same lake decodes them and gets the same rows.
//!
//! A scan is encoded as table, snapshot, scope, columns and filters. A search condition is encoded as the text from
//! which it was resolved, and a view as its definition. The decoder resolves and lowers conditions and views again.
//! `datafusion-proto` encodes DataFusion's own operators.
//!
//! The lake signs the bytes, and the decoder checks the signature first. The scope is a part of each scan, so only
//! someone with the lake's key can change it.

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
