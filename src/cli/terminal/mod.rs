//! The common parts of commands: how they print, ask, fail, and show progress.

pub(super) mod ask;
pub(super) mod columns;
pub(super) mod failure;
pub(super) mod input;
pub(super) mod manner;
pub(super) mod output;
pub(super) mod progress;
pub(super) mod sink;
pub(super) mod table;
