//! A sort key as a DataFusion function over the columns of the key's program.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::logical_expr::ptr_eq::PtrEq;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::expressions::{BinaryExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::prelude::ident;

use super::super::parameters::query::SortKey;
use super::sort;
use crate::fhir::facts;
use crate::fhir::search_parameter::SearchType;
use crate::fhir::storage::{END, START};
use crate::lake::scan::{Order, Reach};

/// Returns the expression that yields the key. `schema` is the schema of the scan.
pub(in crate::search) fn expression(key: &SortKey, schema: &Schema) -> Expr {
    let fields = schema.fields().iter().map(|field| field.name().as_str());
    let mut columns: Vec<&str> = fields.filter(|column| key.reads(column)).collect();
    // DataFusion may evaluate a function without arguments as a constant, one time for all rows. So if none of the
    // key's columns exist, `id` is the argument.
    if columns.is_empty() {
        columns.push("id");
    }
    function(key).call(columns.into_iter().map(ident).collect())
}

/// Returns the function that yields the key.
pub(in crate::search) fn function(key: &SortKey) -> ScalarUDF {
    ScalarUDF::from(KeyFunction {
        name: format!("sort_{}", key.compiled.parameter.code),
        key: Arc::new(key.clone()).into(),
        signature: Signature::variadic_any(Volatility::Immutable),
    })
}

/// Returns the key that a function yields. Returns `None` if the function does not yield a sort key.
pub(in crate::search) fn key_of(function: &ScalarUDF) -> Option<&SortKey> {
    let function = function.inner().downcast_ref::<KeyFunction>()?;
    Some(&function.key)
}

/// Returns the order of a key for the scan. The scan then skips rows by the statistics of the key's leaves. An
/// ascending order uses the starts of dates, a descending order uses their ends. Returns `None` if the key is not a
/// date, or if some of its values are not in leaves of dates.
pub(in crate::search) fn order(key: &SortKey) -> Option<Order> {
    if key.compiled.parameter.search_type != SearchType::Date {
        return None;
    }
    let mut reaches = Vec::new();
    for origin in key.compiled.program.origins() {
        let (path, type_id) = (origin.path?, origin.item_type.fhir()?);
        let leaf = |suffix: &str| -> Arc<str> { format!("{path}{suffix}").into() };
        let (start, end) = match facts().get(type_id).name {
            "date" | "dateTime" | "instant" => {
                reaches.push(Reach::In(leaf(if key.descending { END } else { START })));
                continue;
            }
            "Period" => (leaf(&format!(".start{START}")), leaf(&format!(".end{END}"))),
            "Timing" => {
                let below = ["event", "repeat.boundsPeriod.start", "repeat.boundsPeriod.end"];
                let leaves = below
                    .iter()
                    .flat_map(|name| [START, END].map(|bound| leaf(&format!(".{name}{bound}"))));
                reaches.extend(leaves.map(Reach::Unknown));
                continue;
            }
            _ => return None,
        };
        reaches.push(if key.descending {
            Reach::Open(end, start)
        } else {
            Reach::Open(start, end)
        });
    }
    Some(Order {
        descending: key.descending,
        reaches,
        threshold,
    })
}

/// Reads the bound of the first key from the dynamic filter of DataFusion's sort: `key > bound` or `key < bound`. If
/// the sort has several keys, `OR` and comparisons for rows with equal first keys follow. Returns `None` if the filter
/// has another form.
pub(in crate::search) fn threshold(filter: &Arc<dyn PhysicalExpr>) -> Option<i64> {
    let mut expression = filter.downcast_ref::<BinaryExpr>()?;
    while *expression.op() == Operator::Or {
        expression = expression.left().downcast_ref::<BinaryExpr>()?;
    }
    let function = expression.left().downcast_ref::<ScalarFunctionExpr>()?;
    let is_bound = matches!(expression.op(), Operator::Gt | Operator::Lt) && function.fun().inner().is::<KeyFunction>();
    match expression.right().downcast_ref::<Literal>()?.value() {
        ScalarValue::Int64(bound) if is_bound => *bound,
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct KeyFunction {
    name: String,
    key: PtrEq<Arc<SortKey>>,
    signature: Signature,
}

impl ScalarUDFImpl for KeyFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType, DataFusionError> {
        Ok(sort::data_type(&self.key))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue, DataFusionError> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let schema = Arc::new(Schema::new(args.arg_fields));
        let options = RecordBatchOptions::new().with_row_count(Some(args.number_rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        let keys = sort::keys(&self.key, &batch).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(ColumnarValue::Array(keys))
    }
}
