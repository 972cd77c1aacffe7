//! The parts of a program, and the result of running it. `program` has the handle that callers keep.

use std::fmt;

use super::compile::node::{Node, Shape};
use super::error::{FhirPathError, Position};
use super::values::collection::Collection;
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;

/// What a compilation yields.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) text: String,
    pub(super) root: TypeId,
    pub(super) node: Node,
    pub(super) shape: Shape,
    pub(super) leaves: LeafSet,
    /// How many parts were resolved.
    pub(super) parts: usize,
    pub(super) json_names: Vec<JsonName>,
}

/// A JSON name for which FHIRPath has another form. See
/// [`CompileOptions::json_names`](super::CompileOptions::json_names).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonName {
    /// Its position.
    pub at: Position,
    /// The name.
    pub name: String,
    /// FHIRPath's form.
    pub standard: String,
}

impl fmt::Display for JsonName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonName { at, name, standard } = self;
        write!(formatter, "'{name}' is JSON's name, and FHIRPath has {standard} ({at})")
    }
}

/// The result of an evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The result; empty for a row that failed.
    pub collection: Collection,
    /// The rows that failed, in order, each with its first error.
    pub faults: Vec<Fault>,
}

/// A row on which the expression fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The row.
    pub row: u32,
    /// The error.
    pub error: FhirPathError,
}

impl Evaluation {
    /// The result if no row failed. Otherwise the first error.
    pub fn strict(self) -> Result<Collection, FhirPathError> {
        match self.faults.into_iter().next() {
            None => Ok(self.collection),
            Some(fault) => Err(fault.error),
        }
    }

    /// The result. A row that failed has no items.
    pub fn lenient(self) -> Collection {
        self.collection
    }
}
