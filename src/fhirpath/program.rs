//! A compiled expression, which callers keep, share and run.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::compile::types::ItemType;
use super::compiled::{Evaluation, Fault, Inner, JsonName};
use super::error::FhirPathError;
use super::evaluate::focus::Focus;
use super::evaluate::interpreter;
use crate::fhir::storage::LeafSet;

/// A compiled expression. Clones share the compiled form. Any number of threads may run it.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) inner: Arc<Inner>,
}

impl Program {
    /// Returns the text of the expression.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Returns the columns that the program reads, as paths from the root of the table.
    pub fn leaves(&self) -> &LeafSet {
        &self.inner.leaves
    }

    /// Returns the size of the program, from which its allowed work is computed: the number of parts that the compiler
    /// resolved. A step from many sources counts as several parts.
    pub fn parts(&self) -> usize {
        self.inner.parts
    }

    /// Returns the JSON names that the expression uses, in the order in which they were resolved, without duplicates.
    pub fn json_names(&self) -> &[JsonName] {
        &self.inner.json_names
    }

    /// Returns the types that the result may have, without duplicates. Empty if the result is always empty.
    pub fn output_types(&self) -> Vec<ItemType> {
        let mut types: Vec<ItemType> = self.inner.shape.sources.iter().map(|source| source.item_type).collect();
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

    /// Evaluates the program on the rows of a batch of the root type's table. Columns that the batch lacks count as
    /// null in all rows.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Evaluation, FhirPathError> {
        self.evaluate_on(&Focus::root(batch, self.inner.root))
    }

    /// Evaluates the program on the contexts of `focus`.
    pub fn evaluate_on(&self, focus: &Focus) -> Result<Evaluation, FhirPathError> {
        self.evaluate_at_most(focus, usize::MAX)
    }

    /// Evaluates the program on the contexts of `focus`. An error if all rows together have more than `max_items`
    /// items. If possible, the error occurs before the items are computed. If the evaluation is too large for one
    /// batch, evaluates the two halves of the contexts separately.
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
