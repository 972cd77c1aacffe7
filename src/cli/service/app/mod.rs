//! `tabularium app`: registers and changes applications, their keys and their addresses.

mod applicants;
mod change;
mod command;
mod create;
mod keys;
mod list;
mod profile;
mod webhooks;

pub(in crate::cli) use command::{Args, run};
