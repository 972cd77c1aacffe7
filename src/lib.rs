//! A storage-centric FHIR R4 engine with a columnar query core.
//!
//! Records land in Arrow/Parquet tables, one per resource type; FHIR search and SQL-on-FHIR ViewDefinitions compile
//! into DataFusion plans through a FHIRPath translator. `ARCHITECTURE.md` names the rooms and the invariants between
//! them. A room imports only rooms of lower floors: `fhir`, `private`, `parallel` and `pdf`; `columns` and `published`;
//! `terminology` and `plans`; `lake`, `fhirpath` and `normalize`; `plan` and `ingest`; `search` and `views`; `sql`,
//! `patient` and `consent`; `codec` and `sync`; `maintenance`, `backup` and `http`; `cli`. `bench`, which
//! measures servers, stands aside: it imports rooms up to `consent`, and only `cli` imports it.

pub mod backup;
pub mod bench;
pub mod cli;
pub mod codec;
pub mod columns;
pub mod consent;
pub mod fhir;
pub mod fhirpath;
pub mod http;
pub mod ingest;
pub mod lake;
pub mod maintenance;
pub mod normalize;
pub mod parallel;
pub mod patient;
pub mod pdf;
pub mod plan;
pub mod plans;
mod private;
pub mod published;
pub mod sandbox;
pub mod search;
pub mod sql;
pub mod sync;
pub mod terminology;
pub mod views;
