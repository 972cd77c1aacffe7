//! Resources that lie in no lake.

pub(super) mod memory;
pub(super) mod reader;
