//! The `fhirpath()` calls of a plan for another process: the view of the expression, and the columns that the call
//! gets.

use crate::views::WrittenView;

/// A call of `fhirpath()` or `fhirpath_list()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCall {
    /// The expression as a view with one column.
    pub view: WrittenView,
    /// The expression.
    pub text: String,
    /// Whether the call returns all values as a list.
    pub is_list: bool,
    /// The name that the call has in the statement.
    pub named: String,
    /// The columns that are its arguments.
    pub columns: Vec<String>,
    /// Whether the first argument is an id. If this id is null, there is no row.
    pub guarded: bool,
}
