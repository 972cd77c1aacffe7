//! SQL over a lake: resource types and views are tables, and `fhirpath()` is a function over rows.
//!
//! This module decides which statements are allowed, which columns a table has, which of them a statement reads, and
//! how results are written. Statements can only read, and every row comes through a `ScopedTable`. DataFusion plans and
//! runs the statements. The modules `fhirpath` and `views` evaluate expressions and views.

mod bounded;
mod error;
mod function;
mod length;
mod output;
mod query;
mod rewrite;
mod session;
mod statement;
mod tables;
mod written;

pub use bounded::bounded_functions;
pub use error::SqlError;
pub use function::{read_call, write_call};
pub use output::Writer;
pub use query::Query;
pub use session::{Options, Session};
pub use written::WrittenCall;
