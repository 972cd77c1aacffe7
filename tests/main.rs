//! The integration tests, one binary. Each module is one door or one promise; `harness` is what they share.
//!
//! Tests over real records look for them at `$TABULARIUM_SHARED` and say on one line where they were skipped.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod bench;
mod catalog;
mod columns;
mod compaction;
mod crash;
mod demo;
mod erase;
mod facts;
mod fhirpath;
mod harness;
mod http;
mod import;
mod isolation;
mod old_lake;
mod owners;
mod population;
mod scan;
mod search;
mod tokens;
mod views;
mod walk;
