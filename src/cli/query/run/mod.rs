//! `tabularium run`: writes the rows of ViewDefinitions over a lake or over files. Views of one resource type share
//! one scan of the lake, and all views share one pass over files.

mod args;
mod command;
mod files;
mod lake;
mod outputs;
mod pick;
pub(in crate::cli) mod targets;

pub(in crate::cli) use args::{Args, ExplainArgument, FormatArgument, format_of, is_table, refuse_on_terminal};
pub(in crate::cli) use command::run;
pub(in crate::cli) use files::{Input, documents};
