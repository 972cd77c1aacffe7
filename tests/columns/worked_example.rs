//! The worked example of `LAYOUT.md` matches the program.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use tabularium::columns::json::Tape;
use tabularium::columns::layout::{ColumnRow, Layout};
use tabularium::columns::shred::Shredder;
use tabularium::fhir::facts;
use tabularium::fhir::storage::SYSTEM_COLUMNS;

const PAGE: &str = include_str!("../../LAYOUT.md");

#[test]
fn the_worked_example_is_true() {
    let blocks = |kind: &str| -> Vec<&str> {
        let opening = format!("\n```{kind}\n");
        PAGE.split(opening.as_str())
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap())
            .collect()
    };
    let (examples, columns) = (blocks("json"), blocks("columns"));
    assert_eq!((examples.len(), columns.len()), (2, 2));
    for ((resource_type, example), expected) in ["Patient", "Observation"].into_iter().zip(examples).zip(columns) {
        let type_id = facts().lookup(resource_type).unwrap();
        let (mut shredder, mut tape) = (Shredder::new(type_id), Tape::new());
        for line in example.lines() {
            super::push(&mut shredder, &mut tape, line).unwrap();
        }
        let batch = shredder.finish().unwrap();
        let rows = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().new;
        let shown = show(&batch, &rows);
        assert_eq!(shown, expected, "the page should say\n{shown}");
    }
}

/// A line for each element column, parents before children. Columns without children have values.
fn show(batch: &RecordBatch, rows: &[ColumnRow]) -> String {
    let schema = batch.schema();
    let mut out = String::new();
    let mut rows = rows
        .iter()
        .filter(|row| row.parent.is_some() || !SYSTEM_COLUMNS.contains(&row.name.as_str()))
        .skip(1);
    for (field, array) in schema.fields().iter().zip(batch.columns()).skip(SYSTEM_COLUMNS.len()) {
        let shown: Vec<String> = (0..array.len()).map(|row| cell(array, row)).collect();
        line(field, 0, &mut rows, &shown.join(" | "), &mut out);
    }
    out
}

fn line<'r>(
    field: &Field,
    depth: usize,
    rows: &mut impl Iterator<Item = &'r ColumnRow>,
    values: &str,
    out: &mut String,
) {
    let row = rows.next().unwrap();
    assert_eq!(row.name, *field.name());
    let label = format!(
        "{:>3} {:>6}  {}{} {}",
        row.id,
        row.order,
        "  ".repeat(depth),
        row.name,
        row.column_type.name()
    );
    out.push_str(format!("{label:<58}{values}").trim_end());
    out.push('\n');
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| line(field, depth + 1, rows, "", out)),
        DataType::List(item) => line(item, depth + 1, rows, "", out),
        _ => {}
    }
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "-".to_owned();
    }
    match array.data_type() {
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let items: Vec<String> = (0..items.len()).map(|item| cell(&items, item)).collect();
            format!("[{}]", items.join(", "))
        }
        DataType::Struct(fields) => {
            let cells = fields.iter().zip(array.as_struct().columns());
            let cells: Vec<String> = cells
                .map(|(field, array)| format!("{}: {}", field.name(), cell(array, row)))
                .collect();
            format!("{{{}}}", cells.join(", "))
        }
        _ => ArrayFormatter::try_new(array, &FormatOptions::default())
            .unwrap()
            .value(row)
            .to_string(),
    }
}
