//! The only door to the data: decides which rows a [`Scope`](super::Scope) shows, which files, row groups, pages and
//! Parquet leaves are read for a question, and what is kept in memory between questions.
//!
//! It does not know searches or views: their plans name leaves and filters, and get columns and locators back. What a
//! filter comes to is decided in one place (`lower`), from what it says must hold of a row (`predicate`). Nothing
//! leaves the lake but through a [`ScopedTable`].

mod account;
mod adapt;
mod bulk;
mod chunk;
mod clip;
mod codes;
mod columns;
mod count;
mod directory;
mod erased;
mod error;
mod exec;
mod file;
mod group;
mod handles;
mod held;
mod hybrid;
mod id_set;
mod ids;
mod items;
mod kept;
mod locator;
mod lower;
mod memory;
mod mentions;
mod order;
mod owner_set;
mod pages;
mod person;
mod point;
mod predicate;
mod provider;
mod prune;
mod pruning;
mod ranges;
mod report;
mod request;
mod resolved;
mod rows;
mod share;
mod shared;
mod sieve;
mod stretch;
mod system_column;
mod table;
mod top_k;
mod warm;
mod watch;

pub use bulk::{PlacedRow, Sought};
pub(in crate::lake) use erased::{OwnRows, own_rows};
pub use error::ScanError;
pub use exec::LakeScanExec;
pub use id_set::IdSet;
pub use items::{ItemMatch, Wish};
pub use locator::{FILE, Locator, ROW};
pub use memory::{MemoryLimits, MemoryUse};
pub use order::{Order, Reach, Threshold};
pub use person::PersonRows;
pub use predicate::{Alternative, Necessary, Predicate, expression, expression_over, is_predicate};
pub use provider::LakeProvider;
pub use prune::Prune;
pub use report::{FilterStep, ScanReport};
pub use request::{Person, ScanRequest};
pub use share::processors;
pub use stretch::Stretch;
pub use table::{Reader, Row, ScopedTable};
pub use warm::Warmed;
pub use watch::{Kept, Seen, SeenPerson, SeenRows, SeenScan, Watch};
