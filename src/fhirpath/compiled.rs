//! The compiled form of an expression, and the result of its evaluation. Callers use it through `program`.

use std::fmt;

use super::compile::node::{Node, Shape};
use super::error::{FhirPathError, Position};
use super::values::collection::Collection;
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;

/// A compiled expression.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) text: String,
    pub(super) root: TypeId,
    pub(super) node: Node,
    pub(super) shape: Shape,
    pub(super) leaves: LeafSet,
    /// The number of parts that were resolved.
    pub(super) parts: usize,
    pub(super) json_names: Vec<JsonName>,
}

/// A JSON name for which FHIRPath has another form. See
/// [`CompileOptions::json_names`](super::CompileOptions::json_names).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonName {
    /// The name's position.
    pub at: Position,
    /// The name.
    pub name: String,
    /// The form that FHIRPath has for the JSON name.
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
    /// The result. A row that failed has no items.
    pub collection: Collection,
    /// The rows that failed, in ascending order, each with one error.
    pub faults: Vec<Fault>,
}

/// A row on which the expression fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The index of the row.
    pub row: u32,
    /// The error.
    pub error: FhirPathError,
}

impl Evaluation {
    /// Returns the result if no row failed. Otherwise, returns the error of the first row that failed.
    pub fn strict(self) -> Result<Collection, FhirPathError> {
        match self.faults.into_iter().next() {
            None => Ok(self.collection),
            Some(fault) => Err(fault.error),
        }
    }

    /// Returns the result. A row that failed has no items.
    pub fn lenient(self) -> Collection {
        self.collection
    }
}
