//! What commands are told besides their options: the environment and `tabularium.toml`. An option goes before the
//! environment, and that before the file.

pub(super) mod address;
pub(super) mod apply;
pub(super) mod check;
mod file;
mod given;
