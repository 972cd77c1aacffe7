//! Erasure: no byte is left.

pub(super) mod erase;
pub(super) mod erase_all;
pub(super) mod erase_command;
