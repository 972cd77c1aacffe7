//! A running function, with helpers that functions share: they evaluate arguments, read the single item of a row, and
//! record problems with the data.

use super::super::compile::node::{Argument, Call, Node};
use super::super::error::{FhirPathError, Position};
use super::super::values::builder::{Builder, Computed};
use super::super::values::collection::Collection;
use super::super::values::items::Items;
use super::super::values::scalar::Scalar;
use super::super::values::truth::Truth;
use super::interpreter::{Frame, Output};

/// A running function: its input, and the frame in which its arguments are evaluated.
pub(in crate::fhirpath) struct Invocation<'a> {
    pub(in crate::fhirpath) frame: &'a Frame<'a>,
    pub(in crate::fhirpath) call: &'a Call,
    pub(in crate::fhirpath) input: Collection,
}

impl Invocation<'_> {
    pub(in crate::fhirpath) fn at(&self) -> Position {
        self.call.at
    }

    pub(in crate::fhirpath) fn name(&self) -> &'static str {
        self.call.function.name
    }

    pub(in crate::fhirpath) fn has(&self, argument: usize) -> bool {
        self.call.arguments.len() > argument
    }

    /// Returns an argument's node. Returns `Node::Empty` if the argument is missing or is not an expression.
    pub(in crate::fhirpath) fn node(&self, argument: usize) -> &Node {
        match self.call.arguments.get(argument) {
            Some(Argument::Value(node) | Argument::Each(node)) => node,
            _ => &Node::Empty,
        }
    }

    /// Evaluates an argument in the frame of the call: the result has one row for each row of the input.
    pub(in crate::fhirpath) fn value(&self, argument: usize) -> Result<Collection, FhirPathError> {
        let value = self.frame.items(self.node(argument))?;
        self.frame.spend(value.len() + value.text_bytes() / 2)?;
        Ok(value)
    }

    /// Evaluates an argument as a boolean for each item of the input.
    pub(in crate::fhirpath) fn criterion(&self, argument: usize) -> Result<Truth, FhirPathError> {
        let node = self.node(argument);
        self.frame
            .within(&self.input, None, |inner| inner.truth(node, self.name(), self.at()))
    }
}

impl Invocation<'_> {
    /// Evaluates an argument to one integer per row. A row without items has `None`. Records an error for a row with a
    /// value of another type or with several items.
    pub(in crate::fhirpath) fn integers(&self, argument: usize) -> Result<Vec<Option<i32>>, FhirPathError> {
        let value = self.value(argument)?;
        let of = |row: usize| {
            let (items, item) = self.single(&value, row)?;
            let integer = items.integer(item);
            if integer.is_none() && items.has_value(item) {
                self.problem(row, format!("expects an Integer, not a {}", items.item_type()));
            }
            integer
        };
        Ok((0..value.rows()).map(of).collect())
    }

    /// Returns the column that holds a row's only item, and the item's index in this column. `None` if the row is
    /// empty. Records an error if the row has several items.
    pub(in crate::fhirpath) fn single<'c>(&self, collection: &'c Collection, row: usize) -> Option<(&'c Items, usize)> {
        let range = collection.range(row);
        match range.len() {
            0 => None,
            1 => Some(collection.item(range.start)),
            count => {
                self.frame.not_single(row, count, self.name(), self.at());
                None
            }
        }
    }

    /// Records for a row the error that its data do not fit the function. `problem` says why.
    pub(in crate::fhirpath) fn problem(&self, row: usize, problem: String) {
        self.frame.fault(
            row,
            FhirPathError::Value {
                at: self.at(),
                operation: self.name(),
                problem,
            },
        );
    }
}

/// The result of a function for one row: a value, no value, or the text of a problem with the data.
pub(in crate::fhirpath) type RowResult<T> = Result<Option<T>, String>;

impl Invocation<'_> {
    /// Applies `of` to the value of each row's single item. A row without a value yields nothing. A row with several
    /// items is an error.
    pub(in crate::fhirpath) fn map(
        &self,
        mut of: impl FnMut(usize, Scalar<'_>) -> RowResult<Computed>,
    ) -> Result<Output, FhirPathError> {
        let mut builder = Builder::new(self.input.rows());
        for row in 0..self.input.rows() {
            let value = self
                .single(&self.input, row)
                .and_then(|(items, item)| items.scalar(item));
            if let Some(value) = value.and_then(|value| self.settle(row, of(row, value))) {
                builder.push(value);
            }
            builder.end_row();
        }
        self.frame.work().check()?;
        Ok(Output::Items(builder.finish()?))
    }

    /// Applies `of` to the single item of each row, as [`map`](Self::map) does, for functions with a boolean result.
    pub(in crate::fhirpath) fn judge(
        &self,
        mut of: impl FnMut(usize, Scalar<'_>) -> RowResult<bool>,
    ) -> Result<Output, FhirPathError> {
        let truth = Truth::collect(self.input.rows(), |row| {
            let (items, item) = self.single(&self.input, row)?;
            let value = items.scalar(item)?;
            self.settle(row, of(row, value))
        });
        self.frame.work().check()?;
        Ok(Output::Truth(truth))
    }

    /// Adds the work of a row, for functions that run in `map` or `judge`. Returns an error text if the budget is used
    /// up. `map` and `judge` record it for the row, go on, and return [`FhirPathError::TooCostly`] after the last row.
    pub(in crate::fhirpath) fn charge(&self, work: usize) -> Result<(), String> {
        self.frame.spend(work).map_err(|error| error.to_string())
    }

    /// Returns the single value of an argument in a row. `None` if the row has no value. Records an error if the row
    /// has several items.
    pub(in crate::fhirpath) fn scalar<'c>(&self, argument: &'c Collection, row: usize) -> Option<Scalar<'c>> {
        let (items, item) = self.single(argument, row)?;
        items.scalar(item)
    }

    /// Returns the single string of an argument in a row. Records an error if the row has a value of another type or
    /// several items.
    pub(in crate::fhirpath) fn text<'c>(&self, argument: &'c Collection, row: usize) -> Option<&'c str> {
        match self.scalar(argument, row)? {
            Scalar::Text(text) => Some(text),
            other => {
                self.problem(row, format!("expects a String, not a {}", other.kind()));
                None
            }
        }
    }

    fn settle<T>(&self, row: usize, result: RowResult<T>) -> Option<T> {
        result.unwrap_or_else(|problem| {
            self.problem(row, problem);
            None
        })
    }
}
