//! A compiled expression, which callers keep, share and run.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::compile::node::{Node, Shape};
use super::compile::options::CompileOptions;
use super::compile::types::ItemType;
use super::error::{FhirPathError, Position};
use super::evaluate::focus::Focus;
use super::evaluate::interpreter;
use super::values::collection::Collection;
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;

/// A compiled expression. Clones share it. Any number of threads may run it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) inner: Arc<Inner>,
}

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

/// A JSON name where FHIRPath has another: see [`CompileOptions::json_names`].
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

/// Compiles an expression for the rows of a table of `root`. With [`CompileOptions::context`], for the items that
/// another program over such a table yields.
pub fn compile(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<Program, FhirPathError> {
    let inner = super::compile::compile(text, root, options)?;
    Ok(Program { inner: Arc::new(inner) })
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

impl Program {
    /// The expression's text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The columns that it reads, from the root of the table.
    pub fn leaves(&self) -> &LeafSet {
        &self.inner.leaves
    }

    /// Its size: the number of resolved parts.
    pub fn parts(&self) -> usize {
        self.inner.parts
    }

    /// The JSON names in it, in the order of their resolution, without duplicates.
    pub fn json_names(&self) -> &[JsonName] {
        &self.inner.json_names
    }

    /// The types that its result may have, without duplicates. Empty if the result is always empty.
    pub fn output_types(&self) -> Vec<ItemType> {
        let mut types: Vec<ItemType> = self.inner.shape.sources.iter().map(|source| source.ty).collect();
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Whether a row may have several items.
    pub fn is_multi_valued(&self) -> bool {
        self.inner.shape.many
    }

    /// Whether the result is always empty.
    pub fn is_statically_empty(&self) -> bool {
        self.inner.shape.sources.is_empty()
    }

    /// Evaluates it over the rows of a batch of the root type's table. Columns that the batch lacks count as null in
    /// all rows.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Evaluation, FhirPathError> {
        self.evaluate_on(&Focus::root(batch, self.inner.root))
    }

    /// Evaluates it with the items of `focus` as rows.
    pub fn evaluate_on(&self, focus: &Focus) -> Result<Evaluation, FhirPathError> {
        self.evaluate_at_most(focus, usize::MAX)
    }

    /// The same, with at most this many items in all rows together. More items are an error. If possible, the error
    /// comes before they are computed.
    pub fn evaluate_at_most(&self, focus: &Focus, max_items: usize) -> Result<Evaluation, FhirPathError> {
        match interpreter::run(&self.inner, focus, max_items) {
            Err(FhirPathError::TooLarge | FhirPathError::TooManySteps { .. }) if focus.len() > 1 => {
                let middle = focus.len() / 2;
                let first = self.evaluate_at_most(&focus.slice(0, middle), max_items)?;
                let left = max_items.saturating_sub(first.collection.len());
                let second = self.evaluate_at_most(&focus.slice(middle, focus.len() - middle), left)?;
                let mut faults = first.faults;
                faults.extend(second.faults.into_iter().map(|fault| Fault {
                    row: fault.row + middle as u32,
                    ..fault
                }));
                let collection = super::evaluate::combine::stack(&first.collection, &second.collection);
                Ok(Evaluation { collection, faults })
            }
            result => result,
        }
    }
}
