//! Settings from the environment and from `tabularium.toml`. An option on the command line overrides the environment,
//! and the environment overrides the file.

pub(super) mod address;
pub(super) mod apply;
pub(super) mod check;
mod file;
mod given;
