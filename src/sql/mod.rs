//! SQL over a lake: its tables by the names of their types, views as tables of their names, `fhirpath()` over rows.
//!
//! Decides what a statement may be, which columns a table has, which of them a statement reads, and how results are
//! written. It only reads, and every row comes through a `ScopedTable`. Plans and operators are DataFusion's; FHIRPath
//! and views are evaluated by their own rooms.

mod error;
mod function;
mod output;
mod query;
mod rewrite;
mod session;
mod statement;
mod tables;
mod written;

pub use error::SqlError;
pub use output::Writer;
pub use query::Query;
pub use session::{Options, Session};
pub use written::{WrittenCall, read_call, write_call};
