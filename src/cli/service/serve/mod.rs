//! `tabularium serve`, and the parts that it shares with other commands that run a server: addresses, limits, logs.

pub(in crate::cli) mod base_url;
mod command;
mod log_writer;
pub(super) mod logging;
pub(super) mod page_args;
pub(super) mod rates;
pub(super) mod stop;

pub(in crate::cli) use command::{Args, newest, parameters, run, serve, sources};
