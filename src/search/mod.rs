//! FHIR search: raw parameters to checked query to matches to page.
//!
//! Decides which rows match a query, in which order, and what a page shows. What a parameter's values are, FHIRPath says;
//! which rows may be seen, the lake's scan. Status codes and OperationOutcomes are `http`'s.

mod answer;
mod binding;
mod bring;
mod chain;
mod compartment;
mod contained;
mod criterion;
mod engine;
mod error;
mod explain;
mod filter;
mod filter_expression;
mod filter_operator;
mod hierarchy;
mod include;
mod included;
mod join;
mod key_function;
mod links;
mod matcher;
mod matches;
mod merge;
mod near;
mod offer;
mod page;
mod parameter;
mod parts;
mod person;
mod plain;
mod population;
mod pushdown;
mod query;
pub mod raw;
mod resolve;
mod result;
mod sort;
mod subset;
mod system;
mod targets;
mod terminology;
mod trace;
mod value;
mod words;

pub use engine::{Engine, Handling, MAX_PAGE_BYTES, Request};
pub use error::SearchError;
pub use explain::{Explanation, Form};
pub use filter_expression::with_alternatives;
pub use included::IncludeLimits;
pub use offer::{COMMON, Common, PREFIXES};
pub use result::{DEFAULT_COUNT, MAX_COUNT, Pin};
pub use system::SystemRequest;
