//! Wraps conditions on rows, such as search criteria and the `where` of views, as DataFusion expressions.
//!
//! A [`Predicate`] names the leaves that it reads, states its necessary condition, and decides each row of a batch. One
//! scalar function wraps all kinds of predicates, so a DataFusion `Filter` node can hold a predicate like any other
//! expression. The file `conditions/lower.rs` decides how a scan applies a predicate.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::ptr_eq::PtrEq;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::prelude::ident;

use super::lookup::locator::{FILE, ROW};
use crate::columns::conditions::Necessary;
use crate::fhir::storage::{EVERYTHING, LeafSet};

/// A condition on the rows of a table.
pub trait Predicate: Any + fmt::Debug + Send + Sync {
    /// Returns the text that plans and reports show.
    fn label(&self) -> &Arc<str>;

    /// Returns the leaves that the predicate reads.
    fn leaves(&self) -> &LeafSet;

    /// Returns a condition that every matching row meets. The scan uses it to skip rows.
    fn necessary(&self) -> &Necessary;

    /// Whether `necessary` returns a stricter condition when the plan runs, because the condition depends on the
    /// results of another plan. If so, the scan calls `necessary` again when its first partition begins.
    fn is_late(&self) -> bool {
        false
    }

    /// Whether an operator above the scan evaluates the predicate. If so, the scan only skips rows by `necessary`, and
    /// does not call `keep`.
    fn is_decided_above(&self) -> bool {
        false
    }

    /// Returns the work of testing one row, in the unit of a [`Budget`](super::Budget). A simple comparison counts as
    /// one.
    fn cost(&self) -> u64 {
        1
    }

    /// Returns for each row of a batch whether it matches. A null result counts as `false`. If the batch lacks a
    /// column, the predicate treats the column as null in all rows.
    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError>;
}

/// Returns a predicate as an expression. Its arguments are those columns of the scan's schema that the predicate reads.
pub fn expression(predicate: Arc<dyn Predicate>, schema: &Schema) -> Expr {
    let leaves = predicate.leaves();
    let reads = |column: &str| {
        leaves
            .iter()
            .any(|leaf| leaf == EVERYTHING || leaf.split('.').next() == Some(column))
    };
    let columns = schema.fields().iter().map(|field| field.name().as_str());
    let columns = columns.filter(|column| ![FILE, ROW].contains(column));
    let arguments = columns.filter(|column| reads(column)).map(ident).collect();
    expression_over(predicate, arguments)
}

/// Returns a predicate as an expression with these arguments. They must contain every existing column that the
/// predicate reads.
pub fn expression_over(predicate: Arc<dyn Predicate>, arguments: Vec<Expr>) -> Expr {
    function(predicate).call(arguments)
}

/// Returns the scalar function that wraps a predicate.
pub fn function(predicate: Arc<dyn Predicate>) -> ScalarUDF {
    ScalarUDF::from(PredicateFunction {
        name: format!("[{}]", predicate.label()),
        predicate: predicate.into(),
        // Allow a call without arguments: it occurs if none of the columns that the predicate reads exists.
        signature: Signature::one_of(
            vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
            Volatility::Immutable,
        ),
    })
}

/// Returns the predicate that a function wraps. `None` if the function wraps none.
pub fn carried(function: &ScalarUDF) -> Option<&Arc<dyn Predicate>> {
    let function = function.inner().downcast_ref::<PredicateFunction>()?;
    Some(&function.predicate)
}

/// Whether an expression is a call of a function that wraps a predicate.
pub fn is_predicate(of: &Expr) -> bool {
    predicate(of).is_some()
}

/// Returns the predicate if the expression is a call of a function that wraps one.
pub(super) fn predicate(expression: &Expr) -> Option<&Arc<dyn Predicate>> {
    let Expr::ScalarFunction(call) = expression else {
        return None;
    };
    carried(&call.func)
}

/// A scalar function that wraps a predicate. Its arguments are the columns that the predicate reads.
#[derive(Debug)]
struct PredicateFunction {
    name: String,
    predicate: PtrEq<Arc<dyn Predicate>>,
    signature: Signature,
}

/// Compares predicates by pointer: a planner compares and hashes expressions often, and a label may list thousands of
/// values.
impl PartialEq for PredicateFunction {
    fn eq(&self, other: &PredicateFunction) -> bool {
        self.predicate == other.predicate
    }
}

impl Eq for PredicateFunction {}

impl Hash for PredicateFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.predicate.hash(state);
    }
}

impl ScalarUDFImpl for PredicateFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let schema = Arc::new(Schema::new(args.arg_fields));
        let options = RecordBatchOptions::new().with_row_count(Some(args.number_rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        Ok(ColumnarValue::Array(Arc::new(self.predicate.keep(&batch)?)))
    }
}
