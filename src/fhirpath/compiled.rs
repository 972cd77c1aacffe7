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
    /// The size of the expression, from which its allowed work is computed: the number of parts that the compiler
    /// resolved. A step from many sources counts as several parts.
    pub(super) parts: usize,
    pub(super) json_names: Vec<JsonName>,
}

/// A JSON name in the expression, such as `valueCoding`, for which FHIRPath has another form. See
/// [`CompileOptions::json_names`](super::CompileOptions::json_names).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonName {
    /// The name's position.
    pub at: Position,
    /// The name.
    pub name: String,
    /// What the expression must have in place of the JSON name, such as `value.ofType(Coding)`.
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
