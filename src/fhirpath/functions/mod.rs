//! The functions, one file per family. Each family has a table of [`Function`]s, and `lookup` searches all tables. To
//! add a function, add a row to the table of its family and write its `run` there.

mod collections;
mod fhir;
mod signature;
mod table;
mod values;

pub(super) use collections::control::{COALESCE, DEFINE_VARIABLE, DESCENDANTS};
pub(super) use collections::nodes::{CHECK_MODIFIERS, RESOURCE_TYPE};
pub(super) use collections::subsetting::SINGLE_OF_AS;
pub(super) use fhir::references::RESOLVE_ALONE;
pub(super) use fhir::resolve::is_reference;
pub(super) use fhir::terminology::{CONFORMS_TO, MEMBER_OF, SUBSUMED_BY, SUBSUMES, base_type, has_codes, is_coded};
pub(super) use signature::{Function, Need, Parameter, Signature};
pub use table::functions;
pub(super) use table::{INDEXER, lookup};
