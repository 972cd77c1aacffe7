//! `tabularium sql`: runs a statement over the tables of a lake and over views.

mod args;
mod statement;

pub(in crate::cli) use args::Args;
pub(in crate::cli) use statement::run;
