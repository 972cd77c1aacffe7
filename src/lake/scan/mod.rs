//! Reads rows for requests. Each read goes through a [`ScopedTable`]. This module decides which rows a
//! [`Scope`](super::Scope) shows, which files, row groups, pages and Parquet leaves a request reads, and what stays in
//! memory between requests.
//!
//! The module does not know searches or views. Their plans name leaves and filters, and get columns and locators back.
//! The trait [`Predicate`] describes a filter. The file `conditions/lower.rs` alone decides how a scan applies filters.

mod budget;
mod cache;
mod conditions;
mod decode;
mod error;
mod lookup;
mod predicate;
mod report;
mod row;
mod rows;
mod table;
mod visible;

pub use budget::{Budget, Stop};
pub use cache::memory::{MemoryLimits, MemoryUse};
pub use cache::warm::Warmed;
pub use error::ScanError;
pub use lookup::bulk::{PlacedRow, Sought};
pub use lookup::locator::{FILE, Locator, ROW};
pub use lookup::person::PersonRows;
pub use predicate::{Predicate, carried, expression, expression_over, function, is_predicate};
pub use report::counts::{FilterStep, Pages, ScanReport};
pub use report::watch::{Kept, Seen, SeenPerson, SeenRows, SeenScan, Watch};
pub use row::Row;
pub use rows::exec::{Asked, LakeScanExec};
pub use rows::order::{Order, Reach, Threshold};
pub use rows::provider::LakeProvider;
pub use rows::request::{Person, ScanRequest};
pub use rows::span::Span;
pub use table::{Reader, ScopedTable};
pub(in crate::lake) use visible::erased::{OwnRows, own_rows};
