//! Resources outside any lake.

pub(super) mod memory;
pub(super) mod reader;
