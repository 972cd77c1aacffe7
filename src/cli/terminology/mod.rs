//! `--terminology`, and `tabularium terminology`: tables of codes beside the lake, as publishers ship them.

mod argument;
mod command;
mod list;
mod load;
mod lookup;

pub(super) use argument::{TerminologyArgument, failure, open};
pub(super) use command::{Args, run};
