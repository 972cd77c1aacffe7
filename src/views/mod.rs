//! SQL on FHIR: turns ViewDefinitions into plans, and runs them to rows.
//!
//! Decides what a ViewDefinition may contain, which columns it has, how its select tree becomes rows, and how rows
//! are written as CSV, JSON, NDJSON and Parquet. Every value comes from a `fhirpath` program, and every row of a lake
//! comes through a `ScopedTable`. `http` decides what the parameters of a request mean.

mod definition;
mod error;
mod evaluation;
mod input;
mod naming;
mod output;
mod plan;
mod run;
mod shared;
mod view;
mod written;

pub use definition::check::Checked;
pub use definition::column::{Column, Tag};
pub use definition::finding::Finding;
pub use definition::kind::Kind;
pub use definition::sql_type::SqlType;
pub use error::{RunError, ViewError};
pub use evaluation::evaluate::BatchRows;
pub use input::reader::{Batches, Document, Pick, Reader, Refused};
pub use naming::Naming;
pub use output::stop::Stop;
pub use output::write::{Pieces, Rows};
pub use output::{Format, SpoolRoom, TextColumn, WhyText};
pub use plan::exec::ViewExec;
pub use plan::several::ViewsExec;
pub use plan::table::ViewTable;
pub use plan::typed::TypedExec;
pub use run::{Page, Resources, Run};
pub use shared::{Event, Events, SharedRows, SharedRun};
pub use view::View;
pub use written::{WrittenPredicate, WrittenView, read_predicate, write_predicate};
