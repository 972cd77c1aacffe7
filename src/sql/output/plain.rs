//! Casts columns to the few types that the text formats support: for example, all encodings of strings become `Utf8`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef};
use arrow::error::ArrowError;

/// Returns the columns of a batch, cast to the types that the text formats support.
pub(super) fn columns(batch: &RecordBatch) -> Result<Vec<ArrayRef>, ArrowError> {
    batch
        .columns()
        .iter()
        .map(|array| {
            let data_type = plain(array.data_type());
            if data_type == *array.data_type() {
                Ok(array.clone())
            } else {
                cast(array, &data_type)
            }
        })
        .collect()
}

fn plain(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| -> FieldRef { Arc::new(Field::new(field.name(), plain(field.data_type()), true)) };
    match data_type {
        DataType::Dictionary(_, values) => plain(values),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => DataType::List(field(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        other => other.clone(),
    }
}
