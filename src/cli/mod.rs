//! The command line: one file per command, each with its `Args` and a `run` that either does the work or says in one
//! sentence why not.

#![allow(clippy::print_stdout, clippy::print_stderr)]

/// `print!` that does not panic where nobody reads any more.
macro_rules! print {
    ($($text:tt)*) => { $crate::cli::output::write(format_args!($($text)*), "") };
}

/// `println!` that does not panic where nobody reads any more.
macro_rules! println {
    () => { $crate::cli::output::write(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::cli::output::write(format_args!($($text)*), "\n") };
}

mod app;
mod audit;
mod backup;
mod base_url;
mod bench;
mod check;
mod columns;
mod command;
mod compact;
mod consents;
mod data_store;
mod definition;
mod demo;
mod endpoint;
mod erase;
mod everything;
mod failure;
mod fhirpath;
mod generate;
mod import;
mod info;
mod keys;
mod lake_key;
mod lake_scope;
mod log_writer;
mod logging;
mod mode;
mod normalize;
mod output;
mod pdf;
mod plans;
mod playground;
mod progress;
mod rates;
mod receipt;
mod record;
mod restore;
mod run;
mod sandbox;
mod seal;
mod search;
mod serve;
mod sink;
mod sql;
mod summary;
mod sync;
mod terminology;
mod token;
mod upkeep;
mod validate_view;
mod wait;

pub use command::run;
