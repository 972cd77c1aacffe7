//! Conditions on rows as DataFusion expressions: search criteria and views' `where`, in the form that the planner and
//! the scan see.
//!
//! A predicate names the leaves that it reads and its necessary condition, and decides rows over columns. One scalar
//! function carries all kinds of predicates, so a `Filter` node holds them like any other expression. `lower` decides
//! how the scan uses them.

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
    /// The condition as plans and reports show it.
    fn label(&self) -> &Arc<str>;

    /// The leaves that it reads.
    fn leaves(&self) -> &LeafSet;

    /// The condition that every matching row meets.
    fn necessary(&self) -> &Necessary;

    /// Whether `necessary` becomes stricter when the plan runs, because it depends on the results of other plans. A
    /// scan then calls it again before it reads.
    fn is_late(&self) -> bool {
        false
    }

    /// Whether an operator above the scan decides the rows. The scan then uses `necessary` alone, and evaluates the
    /// predicate on no row.
    fn is_decided_above(&self) -> bool {
        false
    }

    /// Decides each row of a batch. Null counts as `false`. Columns that the batch lacks count as null in all rows.
    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError>;
}

/// A predicate as an expression over the columns of a scan with this schema.
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

/// A predicate as an expression over these columns. They must include every leaf that the predicate reads.
pub fn expression_over(predicate: Arc<dyn Predicate>, arguments: Vec<Expr>) -> Expr {
    function(predicate).call(arguments)
}

/// The function that carries a predicate.
pub fn function(predicate: Arc<dyn Predicate>) -> ScalarUDF {
    ScalarUDF::from(PredicateFunction {
        name: format!("[{}]", predicate.label()),
        predicate: predicate.into(),
        // Without arguments if none of the columns that the predicate reads is stored.
        signature: Signature::one_of(
            vec![TypeSignature::Nullary, TypeSignature::VariadicAny],
            Volatility::Immutable,
        ),
    })
}

/// The predicate that a function carries, if any.
pub fn carried(function: &ScalarUDF) -> Option<&Arc<dyn Predicate>> {
    let function = function.inner().downcast_ref::<PredicateFunction>()?;
    Some(&function.predicate)
}

/// Whether an expression is a predicate.
pub fn is_predicate(of: &Expr) -> bool {
    predicate(of).is_some()
}

/// The predicate, if the expression consists of exactly one.
pub(super) fn predicate(expression: &Expr) -> Option<&Arc<dyn Predicate>> {
    let Expr::ScalarFunction(call) = expression else {
        return None;
    };
    carried(&call.func)
}

/// The function that carries a predicate through plans. Its arguments are the columns that the predicate reads.
#[derive(Debug)]
struct PredicateFunction {
    name: String,
    predicate: PtrEq<Arc<dyn Predicate>>,
    signature: Signature,
}

/// Compare predicates by identity alone: planning compares and hashes expressions again and again, and labels may list
/// thousands of values.
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
