//! `tabularium show` and `tabularium describe`: views of a table without a ViewDefinition.

mod describe;
mod elements;
mod preview;
mod rows;

pub(in crate::cli) use describe::{DescribeArgs, run as describe};
pub(in crate::cli) use preview::{ShowArgs, run as show};
