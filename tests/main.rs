//! The integration tests, one binary. Each module tests one API or one guarantee; `harness` is shared code.
//!
//! Tests over real records read the shared ones at `$TABULARIUM_SHARED`. In builds without it some of them read the
//! excerpt in `fixtures/real`. The others are ignored, and the summary line has their number.
//! `cargo test --test main search::` runs one module.

#![allow(clippy::print_stderr, clippy::print_stdout, clippy::unwrap_used)]

// Shared code, and guards of the source tree.
mod guards; // docs name existing files, rooms import downwards
mod harness; // real records, servers, lakes, FHIR readers

// Isolation: tests try to reach another patient's records by every API.
mod access; // every door tries to reach another patient's

// R4 and everything derived from it.
mod columns; // columns and texts agree
mod facts; // R4's tables match real records
mod fhirpath; // expressions over columns, official suite included
mod population; // the synthetic population

// The lake.
mod damaged; // catalogs that do not fit the files
mod import; // what is imported is what the lake holds
mod lake; // catalog, compaction, keys, kills, flipped bits, earlier formats
mod scan; // the one door to rows
mod sealed; // lakes whose files are sealed

// Search and views.
mod search; // results equal a plain reading of the JSON
mod sql; // tables and views in one statement
mod views; // official suite, pages, plans, formats
mod walk; // pages while records change

// A patient's whole record.
mod health_links; // shared by links
mod patient; // $everything, $summary, $pdf, health cards
mod pdf; // documents as pages
mod summary; // the International Patient Summary

// Normalization and tables.
mod normalize; // each rule over real files
mod plans; // Medicare Advantage plans
mod terminology; // code systems as publishers ship them

// Consents, syncs and their states.
mod connect; // the patient's pages
mod flow_walk; // random flows
mod link; // the link API
mod live; // live mode from the first command to a read
mod oauth; // the OAuth API
mod rest; // consents as applications see them
mod sandbox; // organizations to connect to
mod states; // the transition table
mod sync; // from an authorization to records, and their erasure
mod webhooks; // what applications are told, and how it reaches them

// Erasure, backups.
mod backup; // what comes back, and who does not
mod erasure; // no byte is left, several people at once, the command

// The server and the command line.
mod bench; // `tabularium bench`
mod commands; // settings, help, previews, mistakes; `demo`, applications, keys, consents, sources
mod console; // what operators see in a browser
mod documented; // the lines of README and docs
mod http; // routes, bounds, codings, metadata
