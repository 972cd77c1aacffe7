//! `tabularium demo`: the records, the sandbox beside the service, and the text for a newcomer.

mod command;
mod guide;
mod playground;

pub(in crate::cli) use command::{Args, run};
