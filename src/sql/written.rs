//! What a plan of a statement says of `fhirpath()` to another process: the view of its expression, and the columns that
//! it is given.

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

use super::function::OverColumns;
use crate::terminology::Terminology;
use crate::views::{View, ViewError, WrittenView};

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

/// The call that a function is, if it is one of ours.
pub fn write_call(function: &ScalarUDF) -> Option<WrittenCall> {
    Some(function.inner().downcast_ref::<OverColumns>()?.written())
}

/// The function that was written so.
pub fn read_call(written: WrittenCall, terminology: Option<Arc<Terminology>>) -> Result<ScalarUDF, ViewError> {
    let view = Arc::new(View::read(&written.view, terminology)?);
    Ok(ScalarUDF::from(OverColumns::read(written, view)))
}
