//! Reads resources that are not in a lake.

pub(super) mod memory;
pub(super) mod reader;
