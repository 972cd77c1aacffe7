//! `tabularium endpoint`: the directory of sources that patients can connect.

mod add;
mod check;
mod command;
mod findings;
mod identity;
mod list;
mod organization;
mod source;

pub(in crate::cli) use command::{Args, run};
