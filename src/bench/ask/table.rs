//! Reads a type's rows by a ViewDefinition over the table, as columns of text.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use serde_json::{Value, json};

use super::super::error::BenchError;
use crate::fhir::facts;
use crate::lake::scan::ScopedTable;
use crate::plan::wait;
use crate::views::{Resources, Run, View};

/// Calls `take` with the ids of a type's rows. Returns their number.
pub(super) fn ids(table: &ScopedTable, mut take: impl FnMut(&str)) -> Result<u64, BenchError> {
    let mut many = 0;
    rows(table, &[("id".to_owned(), "getResourceKey()".to_owned())], |batch| {
        many += batch.num_rows() as u64;
        texts(batch, "id")
            .iter()
            .flat_map(|ids| ids.iter())
            .flatten()
            .for_each(&mut take);
    })?;
    Ok(many)
}

pub(super) fn rows(
    table: &ScopedTable,
    columns: &[(String, String)],
    mut take: impl FnMut(&RecordBatch),
) -> Result<(), BenchError> {
    let definition = definition(facts().get(table.type_id()).name, columns);
    let view = View::parse(definition.as_bytes()).map_err(|error| {
        // This error does not happen, because the program uses only expressions that compile for the type.
        BenchError::Io(std::io::Error::other(error.to_string()))
    })?;
    let run = wait(Run::new(table, Arc::new(view), &Resources::default(), None))?;
    for batch in run.rows().batches() {
        take(&batch?);
    }
    Ok(())
}

/// Returns a column of any type as text. `None` if there is no such column.
pub(super) fn texts(batch: &RecordBatch, name: &str) -> Option<StringArray> {
    let column = batch.column_by_name(name)?;
    let text = arrow::compute::cast(column, &DataType::Utf8).ok()?;
    Some(text.as_string::<i32>().clone())
}

pub(super) fn definition(name: &str, columns: &[(String, String)]) -> String {
    let column = |(name, path): &(String, String)| json!({"name": name, "path": path});
    let columns: Vec<Value> = columns.iter().map(column).collect();
    json!({
        "resourceType": "ViewDefinition",
        "name": "draw",
        "status": "active",
        "resource": name,
        "select": [{"column": columns}],
    })
    .to_string()
}
