//! Adds missing columns to batches, so that they have all columns of a schema.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, StructArray, new_null_array};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::error::ArrowError;
use std::sync::Arc;

/// Returns the rows of `batch` with the columns of `schema`. `schema` has all columns of the batch and perhaps more.
/// The additional columns and nested fields are null. Values are shared, not copied.
pub fn adapt(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns: Result<Vec<ArrayRef>, ArrowError> = schema
        .fields()
        .iter()
        .map(|field| widen(batch.column_by_name(field.name()), field, batch.num_rows()))
        .collect();
    RecordBatch::try_new(schema.clone(), columns?)
}

fn widen(array: Option<&ArrayRef>, field: &Field, len: usize) -> Result<ArrayRef, ArrowError> {
    let Some(array) = array else {
        return Ok(new_null_array(field.data_type(), len));
    };
    match field.data_type() {
        DataType::Struct(fields) => {
            let Some(from) = array.as_struct_opt() else {
                return Err(mismatch(field, array));
            };
            let columns: Result<Vec<ArrayRef>, ArrowError> = fields
                .iter()
                .map(|field| widen(from.column_by_name(field.name()), field, len))
                .collect();
            let nulls = from.nulls().cloned();
            Ok(Arc::new(StructArray::try_new_with_length(
                fields.clone(),
                columns?,
                nulls,
                len,
            )?))
        }
        DataType::List(item) => {
            let Some(from) = array.as_list_opt::<i32>() else {
                return Err(mismatch(field, array));
            };
            let items = widen(Some(from.values()), item, from.values().len())?;
            Ok(Arc::new(ListArray::try_new(
                item.clone(),
                from.offsets().clone(),
                items,
                from.nulls().cloned(),
            )?))
        }
        data_type if data_type == array.data_type() => Ok(array.clone()),
        _ => Err(mismatch(field, array)),
    }
}

fn mismatch(field: &Field, array: &ArrayRef) -> ArrowError {
    let (name, expected, found) = (field.name(), field.data_type(), array.data_type());
    ArrowError::SchemaError(format!("the column {name} has type {found} where {expected} belongs"))
}
