//! All routes of the service in one table: path, methods, handlers, and descriptions for the OpenAPI document. Both
//! the router and `/openapi.json` are built from the table, so they cannot differ.
//!
//! Each module with handlers declares its own routes with [`Route`] and [`Operation`], and `table` joins them. This
//! folder does not decide what a route does.

mod cross_origin;
mod document;
mod headers;
mod openapi;
mod operation;
mod refusals;
mod route;
mod router;
mod schema;
mod suggestion;
mod table;

pub(super) use cross_origin::allow as allow_scripts;
pub(super) use document::Document;
pub(super) use operation::Operation;
pub(super) use refusals::Refusals;
pub(super) use route::{Paths, Route};
pub(super) use router::router;
pub(super) use schema::{list, named, object, one_of, or_null, resolved, schema};
pub(super) use suggestion::meant_operation;
