//! `tabularium plans`: tables of Medicare Advantage plans beside the lake, as CMS publishes them.

mod command;
mod list;
mod load;
mod lookup;
mod open;

pub(in crate::cli) use command::{Args, run};
pub(in crate::cli) use open::{failure, open};
