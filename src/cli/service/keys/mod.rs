//! `tabularium keys`: the keys that sign access tokens, health cards and receipts, the key of a sealed lake, and copies
//! of the keys of its files.

mod command;
mod copies;

pub(in crate::cli) use command::{Args, run};
