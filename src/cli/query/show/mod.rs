//! `tabularium show` and `tabularium describe`: print the rows of a table, and describe the columns of a table or a
//! view.

mod describe;
mod elements;
mod preview;
mod rows;

pub(in crate::cli) use describe::{DescribeArgs, run as describe};
pub(in crate::cli) use preview::{ShowArgs, run as show};
