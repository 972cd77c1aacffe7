//! The command line. Each command has its `Args` and a function that runs it. The function returns a `Failure` with
//! one sentence for each fault.

#![allow(clippy::print_stdout, clippy::print_stderr)]

/// `print!` that does not panic when the output is closed.
macro_rules! print {
    ($($text:tt)*) => { $crate::cli::terminal::output::write(format_args!($($text)*), "") };
}

/// `println!` that does not panic when the output is closed.
macro_rules! println {
    () => { $crate::cli::terminal::output::write(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::cli::terminal::output::write(format_args!($($text)*), "\n") };
}

mod command;
mod configuration;
#[cfg(test)]
mod documented_tests;
mod help;
mod lake;
mod program;
mod query;
mod service;
mod tables;
mod terminal;

pub use command::run;
