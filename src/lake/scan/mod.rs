//! The only door to the data: decides which rows a [`Scope`](super::Scope) shows, which files, row groups, pages and
//! Parquet leaves are read for a question, and what is kept in memory between questions.
//!
//! It does not know searches or views: their plans name leaves and filters, and get columns and locators back. What a
//! filter comes to is decided in one place (`lower`), from what it says must hold of a row (`predicate`). Nothing
//! leaves the lake but through a [`ScopedTable`].

mod cache;
mod conditions;
mod decode;
mod error;
mod id_set;
mod items;
mod lookup;
mod predicate;
mod prune;
mod report;
mod rows;
mod table;
mod visible;

pub use cache::memory::{MemoryLimits, MemoryUse};
pub use cache::warm::Warmed;
pub use error::ScanError;
pub use id_set::IdSet;
pub use items::{ItemMatch, LeafTest};
pub use lookup::bulk::{PlacedRow, Sought};
pub use lookup::locator::{FILE, Locator, ROW};
pub use lookup::person::PersonRows;
pub use predicate::{Alternative, Necessary, Predicate, carried, expression, expression_over, function, is_predicate};
pub use prune::Prune;
pub use report::counts::{FilterStep, ScanReport};
pub use report::watch::{Kept, Seen, SeenPerson, SeenRows, SeenScan, Watch};
pub use rows::exec::{Asked, LakeScanExec};
pub use rows::order::{Order, Reach, Threshold};
pub use rows::provider::LakeProvider;
pub use rows::request::{Person, ScanRequest};
pub use rows::share::processors;
pub use rows::span::Span;
pub use table::{Reader, Row, ScopedTable};
pub(in crate::lake) use visible::erased::{OwnRows, own_rows};
