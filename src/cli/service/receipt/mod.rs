//! `tabularium receipt`: the signed receipts of erasures, listed, printed and checked.

mod command;
mod kept;
mod verify;

pub(in crate::cli) use command::{Args, run};
