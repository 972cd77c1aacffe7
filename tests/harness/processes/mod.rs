//! The program as a process.

pub(crate) mod command;
pub(crate) mod kills;
pub(crate) mod process;
