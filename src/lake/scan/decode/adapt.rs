//! Converts a file's columns to the schema of a scan. Fields are matched by name at every depth. Missing leaves become
//! nulls, and every row stays.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use arrow::error::ArrowError;

/// Returns the columns of `schema` from a batch. Columns that the batch lacks are null. Other columns of the batch are
/// left out.
pub(in crate::lake::scan) fn adapt(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let rows = batch.num_rows();
    let columns = schema
        .fields()
        .iter()
        .map(|field| match batch.column_by_name(field.name()) {
            Some(column) => adapt_array(column, field),
            None => Ok(new_null_array(field.data_type(), rows)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &RecordBatchOptions::new().with_row_count(Some(rows)),
    )
}

/// Converts one column to the type of `to`. The result is null if one type is nested and the other is not, or if one is
/// a struct and the other a list.
pub(in crate::lake::scan) fn adapt_array(array: &ArrayRef, to: &Field) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to.data_type() {
        return Ok(array.clone());
    }
    match (array.data_type(), to.data_type()) {
        (DataType::Struct(_), DataType::Struct(fields)) => adapt_struct(array.as_struct(), fields),
        (DataType::List(_), DataType::List(item)) => {
            let list: &ListArray = array.as_list();
            let values = adapt_array(list.values(), item)?;
            let adapted = ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned())?;
            Ok(Arc::new(adapted))
        }
        (from, to) if !from.is_nested() && !to.is_nested() => cast(array, to),
        _ => Ok(new_null_array(to.data_type(), array.len())),
    }
}

fn adapt_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef, ArrowError> {
    let columns = fields
        .iter()
        .map(|field| match array.column_by_name(field.name()) {
            Some(column) => adapt_array(column, field),
            None => Ok(new_null_array(field.data_type(), array.len())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let nulls = array.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(
        fields.clone(),
        columns,
        nulls,
        array.len(),
    )?))
}
