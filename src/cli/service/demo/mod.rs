//! `tabularium demo`: serves generated records and a sandbox, and prints a text for newcomers.

mod command;
mod guide;
mod playground;

pub(in crate::cli) use command::{Args, run};
