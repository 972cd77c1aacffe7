//! `tabularium receipt`: lists, prints and checks the signed receipts of erasures.

mod back;
mod command;
mod kept;
mod verify;

pub(in crate::cli) use command::{Args, run};
