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

mod base_url;
mod bench;
mod command;
mod compact;
mod definition;
mod demo;
mod erase;
mod failure;
mod fhirpath;
mod generate;
mod import;
mod info;
mod lake_scope;
mod log_writer;
mod logging;
mod mode;
mod output;
mod progress;
mod run;
mod search;
mod serve;
mod terminology;
mod token;
mod upkeep;
mod validate_view;

pub use command::run;
