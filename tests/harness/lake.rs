//! Small lakes for tests of the catalog: Patient rows with the system columns and a few nested elements, written as Parquet
//! and committed by hand.

use std::fs::File;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder, StructBuilder,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Fields, Schema};
use parquet::arrow::ArrowWriter;
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::layout::field_id;
use tabularium::lake::{Mode, Transaction, WrittenColumn, WrittenFile};

/// A Patient row.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) owner: i64,
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) family: Option<&'static str>,
    pub(crate) given: Vec<&'static str>,
}

/// A row of its owner's only Patient.
pub(crate) fn row(owner: i64) -> Row {
    Row {
        owner,
        id: format!("p{owner}"),
        version: 1,
        family: Some("Smith"),
        given: Vec::new(),
    }
}

/// The type whose table the rows go to.
pub(crate) fn patient() -> TypeId {
    facts().lookup("Patient").unwrap()
}

/// Writes a file of these rows (in their order) and adds it to the table of live Patients.
pub(crate) fn add(transaction: &mut Transaction<'_>, rows: &[Row]) -> WrittenFile {
    let written = write(transaction, rows);
    transaction.add_file(Mode::Live, patient(), written.clone());
    written
}

/// Writes a file of these rows without adding it. `name.given` is a column only if a row has it, `name` likewise.
pub(crate) fn write(transaction: &mut Transaction<'_>, rows: &[Row]) -> WrittenFile {
    let time = transaction.time();
    let batch = batch(rows, time);
    let schema = transaction.adopt(Mode::Live, patient(), &batch.schema()).unwrap();
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        batch
            .columns()
            .iter()
            .zip(schema.fields())
            .map(|(array, field)| arrow::compute::cast(array, field.data_type()).unwrap())
            .collect(),
    )
    .unwrap();
    let path = transaction.new_file_path(Mode::Live, patient()).unwrap();
    let mut writer = ArrowWriter::try_new(File::create_new(&path).unwrap(), Arc::clone(&schema), None).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let bytes = writer.bytes_written() as u64;
    let owners: Vec<i64> = rows.iter().map(|row| row.owner).collect();
    let versions: Vec<i64> = rows.iter().map(|row| row.version).collect();
    let footer = std::fs::read(&path).unwrap();
    let footer: [u8; 4] = footer[footer.len() - 8..footer.len() - 4].try_into().unwrap();
    WrittenFile {
        path,
        rows: rows.len() as u64,
        bytes,
        footer_size: u64::from(u32::from_le_bytes(footer)),
        owners: *owners.iter().min().unwrap()..=*owners.iter().max().unwrap(),
        versions: *versions.iter().min().unwrap()..=*versions.iter().max().unwrap(),
        last_updated: time..=time,
        columns: schema
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, array)| WrittenColumn {
                id: field_id(field).unwrap(),
                nulls: array.null_count() as u64,
            })
            .collect(),
    }
}

fn batch(rows: &[Row], time: i64) -> RecordBatch {
    let text = |of: &dyn Fn(&Row) -> String| Arc::new(StringArray::from_iter_values(rows.iter().map(of))) as ArrayRef;
    let number = |of: &dyn Fn(&Row) -> i64| Arc::new(Int64Array::from_iter_values(rows.iter().map(of))) as ArrayRef;
    let mut columns = vec![
        ("owner", number(&|row| row.owner)),
        ("id", text(&|row| row.id.clone())),
        ("application", text(&|_| "local".to_owned())),
        ("version", number(&|row| row.version)),
        (
            "last_updated",
            Arc::new(TimestampMicrosecondArray::from_value(time, rows.len()).with_timezone("UTC")) as ArrayRef,
        ),
        (
            "digest",
            Arc::new(BinaryArray::from_iter_values(rows.iter().map(|_| [7u8; 16]))) as ArrayRef,
        ),
        (
            "resource",
            text(&|row| format!(r#"{{"resourceType":"Patient","id":"{}"}}"#, row.id)),
        ),
    ];
    if let Some(names) = names(rows) {
        columns.push(("name", names));
    }
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.into_iter().map(|(_, array)| array).collect(),
    )
    .unwrap()
}

fn names(rows: &[Row]) -> Option<ArrayRef> {
    let family = rows.iter().any(|row| row.family.is_some());
    let given = rows.iter().any(|row| !row.given.is_empty());
    let item = Arc::new(Field::new("element", DataType::Utf8, true));
    let mut fields = Vec::new();
    if family {
        fields.push(Field::new("family", DataType::Utf8, true));
    }
    if given {
        fields.push(Field::new("given", DataType::List(Arc::clone(&item)), true));
    }
    if fields.is_empty() {
        return None;
    }
    let fields = Fields::from(fields);
    let structs = StructBuilder::from_fields(fields.clone(), rows.len());
    let mut list = ListBuilder::new(structs).with_field(Field::new("element", DataType::Struct(fields), true));
    for row in rows {
        let present = row.family.is_some() || !row.given.is_empty();
        if present {
            let builder = list.values();
            if family {
                builder
                    .field_builder::<StringBuilder>(0)
                    .unwrap()
                    .append_option(row.family);
            }
            if given {
                let values = builder
                    .field_builder::<ListBuilder<Box<dyn arrow::array::ArrayBuilder>>>(usize::from(family))
                    .unwrap();
                for name in &row.given {
                    values
                        .values()
                        .as_any_mut()
                        .downcast_mut::<StringBuilder>()
                        .unwrap()
                        .append_value(name);
                }
                values.append(!row.given.is_empty());
            }
            builder.append(true);
        }
        list.append(present);
    }
    Some(Arc::new(list.finish()))
}
