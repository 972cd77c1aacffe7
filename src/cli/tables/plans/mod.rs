//! `tabularium plans`: tables of Medicare Advantage plans beside the lake, as CMS publishes them.

mod command;
mod list;
mod load;
mod lookup;

pub(in crate::cli) use command::{Args, failure, open, run};
