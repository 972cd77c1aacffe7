//! A storage-centric FHIR R4 engine with a columnar query core.
//!
//! The engine stores records in Arrow/Parquet tables, one per resource type. It compiles FHIR search and SQL-on-FHIR
//! ViewDefinitions into DataFusion plans; FHIRPath expressions become programs over columns. `ARCHITECTURE.md`
//! describes the top-level modules and their invariants.
//!
//! The top-level modules are layers. A module imports only modules of lower layers. From the lowest to the highest:
//! `fhir`, `private`, `parallel`, `confined` and `pdf`; `columns` and `published`; `terminology` and `plans`; `lake`,
//! `fhirpath` and `normalize`; `plan` and `ingest`; `search` and `views`; `sql`, `patient` and `consent`; `codec` and
//! `sync`; `maintenance`, `backup`, `webhooks` and `http`; `cli`. Two modules are outside the layers. `sandbox` has a
//! synthetic population and its servers. Only `cli` and `bench` import it. `bench` measures servers. It imports modules
//! up to `consent`, and only `cli` imports it.

pub mod backup;
pub mod bench;
pub mod cli;
pub mod codec;
pub mod columns;
pub mod confined;
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
pub mod webhooks;
