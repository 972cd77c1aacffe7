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

mod bench;
mod command;
mod lake;
mod lake_key;
mod query;
mod seal;
mod service;
mod sql;
mod tables;
mod terminal;

pub use command::run;
