//! The option `--terminology`, and `tabularium terminology`, which manages tables of codes beside the lake.

mod argument;
mod command;
mod list;
mod load;
mod lookup;

pub(in crate::cli) use argument::{TerminologyArgument, failure, open};
pub(in crate::cli) use command::{Args, run};
