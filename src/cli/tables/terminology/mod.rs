//! `--terminology`, and `tabularium terminology`: tables of codes beside the lake, as publishers ship them.

mod argument;
mod command;
mod list;
mod load;
mod lookup;

pub(in crate::cli) use argument::{TerminologyArgument, failure, open};
pub(in crate::cli) use command::{Args, run};
