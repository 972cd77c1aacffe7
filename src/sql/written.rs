//! What a plan of a statement says of `fhirpath()` to another process: the view of its expression, and the columns that
//! it is given.

use crate::views::WrittenView;

/// A call of `fhirpath()` or `fhirpath_list()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCall {
    /// The expression as a view of one column.
    pub view: WrittenView,
    /// The expression.
    pub text: String,
    /// Whether all values are wanted.
    pub is_list: bool,
    /// The name that the call has in the statement.
    pub named: String,
    /// The columns that its arguments are.
    pub columns: Vec<String>,
    /// Whether the first argument is an id, without which there is no row.
    pub guarded: bool,
}
