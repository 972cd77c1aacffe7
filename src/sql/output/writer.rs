//! Writes a result batch by batch: the text before, between and after the rows in each format.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::cells::Cells;
use super::plain;
use crate::columns::json::push_quoted;
use crate::sql::error::SqlError;
use crate::views::Format;

/// The maximum number of rows in a Parquet row group.
const ROW_GROUP: usize = 131_072;
/// A Parquet row group is written when it takes more than this many bytes of memory.
const BYTES: usize = 96 << 20;

/// Writes a result batch by batch.
pub struct Writer {
    schema: SchemaRef,
    form: Form,
}

enum Form {
    Csv,
    Json { is_begun: bool },
    Ndjson,
    Parquet(Box<ArrowWriter<Vec<u8>>>),
}

impl Writer {
    /// Creates a writer for rows of this schema. Returns it with the bytes that precede all rows.
    pub fn new(format: Format, schema: &SchemaRef) -> Result<(Writer, Vec<u8>), SqlError> {
        let schema = named(schema);
        let mut head = Vec::new();
        let form = match format {
            Format::Csv { header } => {
                if header {
                    let names = schema.fields().iter().map(|field| field.name().as_bytes());
                    csv_record(names, &mut head)?;
                }
                Form::Csv
            }
            Format::Json => {
                head.push(b'[');
                Form::Json { is_begun: false }
            }
            Format::Ndjson => Form::Ndjson,
            // Both Parquet formats write the same file. Its columns have the types of the result's columns. They are
            // known before the first row, so the writer can begin before it has seen all rows.
            Format::Parquet | Format::ParquetText => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(ZstdLevel::default()))
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties));
                Form::Parquet(Box::new(writer.map_err(failed)?))
            }
        };
        Ok((Writer { schema, form }, head))
    }

    /// Writes a batch. Returns the bytes that are ready, which for Parquet may be none.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, SqlError> {
        let columns = batch.columns().to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(failed)?;
        let mut out = Vec::new();
        match &mut self.form {
            Form::Csv => csv(&batch, &mut out)?,
            Form::Json { is_begun } => objects(
                &batch,
                b",\n",
                |out| {
                    if std::mem::replace(is_begun, true) {
                        out.extend_from_slice(b",\n");
                    }
                },
                &mut out,
            )?,
            Form::Ndjson => {
                objects(&batch, b"\n", |_| {}, &mut out)?;
                if batch.num_rows() > 0 {
                    out.push(b'\n');
                }
            }
            Form::Parquet(writer) => {
                writer.write(&batch).map_err(failed)?;
                if writer.memory_size() > BYTES {
                    writer.flush().map_err(failed)?;
                }
                out.append(writer.inner_mut());
            }
        }
        Ok(out)
    }

    /// Returns the bytes that follow all rows.
    pub fn finish(self) -> Result<Vec<u8>, SqlError> {
        match self.form {
            Form::Csv | Form::Ndjson => Ok(Vec::new()),
            Form::Json { .. } => Ok(b"]\n".to_vec()),
            Form::Parquet(writer) => writer.into_inner().map_err(failed),
        }
    }
}

/// Returns the schema without metadata, with unique column names and nullable columns. A repeated name gets a number,
/// such as `n_2`.
fn named(schema: &SchemaRef) -> SchemaRef {
    let mut taken: HashSet<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut met = HashSet::new();
    let field = |field: &FieldRef| {
        let mut name = field.name().clone();
        let mut count = 1;
        while !met.insert(name.clone()) {
            count += 1;
            let next = format!("{}_{count}", field.name());
            name = if taken.insert(next.clone()) { next } else { name };
        }
        Field::new(name, field.data_type().clone(), true)
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Prepares the columns of a batch for the text formats.
fn cells<'a>(batch: &'a [ArrayRef]) -> Result<Vec<Cells<'a>>, SqlError> {
    batch
        .iter()
        .map(|array| Cells::new(array.as_ref()).map_err(failed))
        .collect()
}

fn csv(batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let columns = plain::columns(batch).map_err(failed)?;
    let cells = cells(&columns)?;
    let mut writer = ::csv::WriterBuilder::new().flexible(true).from_writer(out);
    let mut field = Vec::new();
    for row in 0..batch.num_rows() {
        for cells in &cells {
            field.clear();
            cells.push_csv(row, &mut field);
            writer.write_field(&field).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.flush().map_err(failed)
}

fn csv_record<'a>(fields: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let mut writer = ::csv::WriterBuilder::new().from_writer(out);
    writer.write_record(fields).map_err(failed)?;
    writer.flush().map_err(failed)
}

/// Writes the rows of a batch as JSON objects, with `between` after each row except the last. Calls `begin` before the
/// first row.
fn objects(
    batch: &RecordBatch,
    between: &[u8],
    begin: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), SqlError> {
    let columns = plain::columns(batch).map_err(failed)?;
    let cells = cells(&columns)?;
    let mut keys = Vec::with_capacity(cells.len());
    for field in batch.schema().fields() {
        let mut key = Vec::new();
        push_quoted(&mut key, field.name());
        key.push(b':');
        keys.push(key);
    }
    if batch.num_rows() > 0 {
        begin(out);
    }
    for row in 0..batch.num_rows() {
        if row > 0 {
            out.extend_from_slice(between);
        }
        out.push(b'{');
        for (place, (key, cells)) in keys.iter().zip(&cells).enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(key);
            cells.push_json(row, out);
        }
        out.push(b'}');
    }
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> SqlError {
    SqlError::Output(error.to_string())
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
        NullArray, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    };
    use arrow::datatypes::{DataType, Int32Type, Int64Type};

    use super::*;

    fn batch() -> RecordBatch {
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]);
        let names = StructArray::from(vec![
            (
                Arc::new(Field::new("family", DataType::Utf8, true)),
                Arc::new(StringArray::from(vec![Some("O\"Hara"), None])) as ArrayRef,
            ),
            (
                Arc::new(Field::new("rank", DataType::Int64, true)),
                Arc::new(Int64Array::from(vec![Some(1), Some(2)])) as ArrayRef,
            ),
        ]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(Int64Array::from(vec![Some(-5), None]))),
            ("n", Arc::new(Float64Array::from(vec![Some(0.1), Some(f64::NAN)]))),
            (
                "d",
                Arc::new(
                    Decimal128Array::from(vec![Some(12_340), None])
                        .with_precision_and_scale(10, 2)
                        .unwrap(),
                ),
            ),
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
            ("t", Arc::new(StringViewArray::from(vec![Some("a, \"b\""), None]))),
            (
                "k",
                Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("x"), None])),
            ),
            ("day", Arc::new(Date32Array::from(vec![Some(18_262), None]))),
            (
                "at",
                Arc::new(TimestampMicrosecondArray::from(vec![Some(1_500_000), None]).with_timezone("UTC")),
            ),
            ("raw", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"abc"), None]))),
            ("list", Arc::new(list)),
            ("name", Arc::new(names)),
            ("nil", Arc::new(NullArray::new(2))),
        ];
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }

    fn written(format: Format) -> String {
        let batch = batch();
        let (mut writer, mut out) = Writer::new(format, &batch.schema()).unwrap();
        out.extend(writer.write(&batch.slice(0, 1)).unwrap());
        out.extend(writer.write(&batch.slice(1, 1)).unwrap());
        out.extend(writer.write(&batch.slice(0, 0)).unwrap());
        out.extend(writer.finish().unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_type_has_a_form() {
        let first = r#"{"n":-5,"n_2":0.1,"d":123.40,"b":true,"t":"a, \"b\"","k":"x","day":"2020-01-01","at":"1970-01-01T00:00:01.500Z","raw":"YWJj","list":[1,null],"name":{"family":"O\"Hara","rank":1},"nil":null}"#;
        let second = r#"{"n":null,"n_2":null,"d":null,"b":null,"t":null,"k":null,"day":null,"at":null,"raw":null,"list":null,"name":{"rank":2},"nil":null}"#;
        assert_eq!(written(Format::Ndjson), format!("{first}\n{second}\n"));
        assert_eq!(written(Format::Json), format!("[{first},\n{second}]\n"));
        let expected = "n,n_2,d,b,t,k,day,at,raw,list,name,nil\n\
            -5,0.1,123.40,true,\"a, \"\"b\"\"\",x,2020-01-01,1970-01-01T00:00:01.500Z,YWJj,\"[1,null]\",\
            \"{\"\"family\"\":\"\"O\\\"\"Hara\"\",\"\"rank\"\":1}\",\n\
            ,NaN,,,,,,,,,\"{\"\"rank\"\":2}\",\n";
        assert_eq!(written(Format::Csv { header: true }), expected);
    }
}
