//! Settings besides a command's options: the environment and `tabularium.toml`. An option overrides the environment,
//! which overrides the file.

pub(super) mod address;
pub(super) mod apply;
pub(super) mod check;
mod file;
mod given;
