//! `tabularium sql`: statements over the lake's tables and over views.

mod args;
mod statement;

pub(in crate::cli) use args::Args;
pub(in crate::cli) use statement::run;
