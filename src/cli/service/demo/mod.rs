//! `tabularium demo`: the records, the sandbox beside the service, and what a newcomer is told.

mod command;
mod guide;
mod playground;

pub(in crate::cli) use command::{Args, run};
