//! A sort key as a DataFusion function over the columns its program reads.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::DataFusionError;
use datafusion::logical_expr::ptr_eq::PtrEq;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::prelude::ident;

use super::query::SortKey;
use super::sort;

/// The expression that yields the key; `schema` is what the scan yields.
pub(super) fn expression(key: &SortKey, schema: &Schema) -> Expr {
    let mut columns: Vec<&str> = Vec::new();
    for leaf in key.compiled.program.leaves() {
        let column = leaf.split('.').next().unwrap_or(leaf);
        if schema.column_with_name(column).is_some() && !columns.contains(&column) {
            columns.push(column);
        }
    }
    let function = KeyFunction {
        name: format!("sort_{}", key.compiled.parameter.code),
        key: Arc::new(key.clone()).into(),
        signature: Signature::variadic_any(Volatility::Immutable),
    };
    // A function of no columns is not called for each row; the id stands in where no column was ever stored.
    if columns.is_empty() {
        columns.push("id");
    }
    ScalarUDF::from(function).call(columns.into_iter().map(ident).collect())
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
