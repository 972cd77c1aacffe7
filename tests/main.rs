//! The integration tests, one binary. Each module is one door or one promise; `harness` is what they share.
//!
//! Tests over real records look for them at `$TABULARIUM_SHARED` and say on one line where they were skipped.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

mod attachments;
mod backup;
mod bench;
mod bit_rot;
mod catalog;
mod columns;
mod compaction;
mod connect;
mod crash;
mod damaged;
mod demo;
mod erase;
mod erase_all;
mod erase_command;
mod facts;
mod fhirpath;
mod flow_walk;
mod harness;
mod health_links;
mod http;
mod import;
mod isolation;
mod keys;
mod link;
mod live;
mod normalize;
mod oauth;
mod old_lake;
mod owners;
mod patient;
mod pdf;
mod plans;
mod population;
mod rest;
mod sandbox;
mod scan;
mod sealed;
mod search;
mod service_commands;
mod source_commands;
mod states;
mod summary;
mod sync;
mod table_statistics;
mod terminology;
mod tokens;
mod views;
mod waiting;
mod walk;
