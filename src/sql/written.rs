//! The parts of a `fhirpath()` call, for a plan that is written as bytes and runs in another process.

use crate::views::WrittenView;

/// A call of `fhirpath()` or `fhirpath_list()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCall {
    /// The view whose only column is the expression.
    pub view: WrittenView,
    /// The text of the expression.
    pub text: String,
    /// Whether the call returns a list of all values.
    pub is_list: bool,
    /// The name that the call's column has in the statement.
    pub named: String,
    /// The names of the columns that are the arguments.
    pub columns: Vec<String>,
    /// Whether the first argument is the row's id. If the id is null, an outer join has added the row, and the result
    /// is null.
    pub guarded: bool,
}
