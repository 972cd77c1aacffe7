//! SQL on FHIR: ViewDefinition to plan to rows.
//!
//! Decides what a ViewDefinition may say, which columns it gives, how its select tree becomes rows, and how rows are
//! written as CSV, JSON, NDJSON and Parquet. It computes nothing on its own: every expression is a `fhirpath` program,
//! and every row of a lake comes through a `ScopedTable`. What a request's parameters mean over HTTP, `http` decides.

mod advice;
mod assembly;
mod budget;
mod check;
mod column;
mod constants;
mod definition;
mod error;
mod evaluate;
mod exec;
mod finding;
mod memory;
mod metadata;
mod node;
mod output;
mod place;
mod predicate;
mod project;
mod read;
mod reader;
mod relation;
mod repeat;
mod resolve;
mod run;
mod several;
mod shared;
mod sought;
mod sql_type;
mod stop;
mod table;
mod typed;
mod union;
mod values;
mod view;
mod widths;
mod write;

pub use check::Checked;
pub use column::{Column, Kind, Tag};
pub use error::{RunError, ViewError};
pub use evaluate::BatchRows;
pub use exec::ViewExec;
pub use finding::Finding;
pub use output::Format;
pub use reader::{Batches, Document, Pick, Reader, Refused};
pub use run::{Page, Resources, Run};
pub use several::ViewsExec;
pub use shared::{Event, Events, SharedRows, SharedRun};
pub use sql_type::SqlType;
pub use stop::Stop;
pub use table::ViewTable;
pub use typed::TypedExec;
pub use view::View;
pub use write::{Pieces, Rows};
