//! The parts of a text format: text before all rows, the rows of a batch, text between batches, and text after all
//! rows. Each batch is converted on its own, so several threads can do it.

use arrow::array::RecordBatch;

use super::{Format, csv, json};
use crate::views::definition::column::Column;
use crate::views::error::RunError;

/// A format that is text: CSV, JSON or NDJSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::views) enum TextFormat {
    Csv { header: bool },
    Json,
    Ndjson,
}

impl TextFormat {
    /// Returns the text format for a format. `None` for Parquet.
    pub(in crate::views) fn of(format: Format) -> Option<TextFormat> {
        match format {
            Format::Csv { header } => Some(TextFormat::Csv { header }),
            Format::Json => Some(TextFormat::Json),
            Format::Ndjson => Some(TextFormat::Ndjson),
            Format::Parquet | Format::ParquetText => None,
        }
    }

    /// Returns the text before all rows.
    pub(in crate::views) fn head(self, columns: &[Column]) -> Result<Vec<u8>, RunError> {
        let mut out = Vec::new();
        match self {
            TextFormat::Csv { header: true } => csv::push_header(columns, &mut out)?,
            TextFormat::Json => out.push(b'['),
            _ => {}
        }
        Ok(out)
    }

    /// Returns the rows of a batch as text.
    pub(in crate::views) fn rows(self, columns: &[Column], batch: &RecordBatch) -> Result<Vec<u8>, RunError> {
        let mut out = Vec::with_capacity(batch.num_rows() * columns.len() * 16);
        match self {
            TextFormat::Csv { .. } => csv::push_records(columns, batch, &mut out)?,
            TextFormat::Json => json::push_objects(columns, batch, b",\n", &mut out)?,
            TextFormat::Ndjson => {
                json::push_objects(columns, batch, b"\n", &mut out)?;
                if batch.num_rows() > 0 {
                    out.push(b'\n');
                }
            }
        }
        Ok(out)
    }

    /// Returns the text between the rows of two batches.
    pub(in crate::views) fn between(self) -> &'static [u8] {
        match self {
            TextFormat::Json => b",\n",
            _ => b"",
        }
    }

    /// Returns the text after all rows.
    pub(in crate::views) fn tail(self) -> &'static [u8] {
        match self {
            TextFormat::Json => b"]",
            _ => b"",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BooleanArray, Int32Array, ListArray, StringArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::views::definition::kind::Kind;
    use crate::views::definition::sql_type::SqlType;
    use crate::views::view::schema;

    fn column(name: &str, kind: Kind, collection: bool) -> Column {
        Column {
            name: name.to_owned(),
            at: String::new(),
            kind,
            collection,
            fhir_type: None,
            description: None,
            tags: Vec::new(),
            sql: SqlType::of(kind, None),
        }
    }

    fn written(format: TextFormat) -> String {
        let columns = [
            column("flag", Kind::Boolean, false),
            column("count", Kind::Integer, false),
            column("amount", Kind::Decimal, false),
            column("label", Kind::Text, false),
            column("any", Kind::Any, false),
            column("list", Kind::Integer, true),
        ];
        let list =
            ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)]), Some(vec![]), None]);
        let (_, offsets, values, nulls) = list.into_parts();
        let list = ListArray::new(
            crate::views::definition::column::item_field(arrow::datatypes::DataType::Int32),
            offsets,
            values,
            nulls,
        );
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            Arc::new(Int32Array::from(vec![Some(1), Some(-2), None])),
            Arc::new(StringArray::from(vec![Some("100.10"), Some("1e3"), None])),
            Arc::new(StringArray::from(vec![Some("a, \"b\"\nc"), Some("é"), None])),
            Arc::new(StringArray::from(vec![Some("\"x,\\n\""), Some("1.0"), None])),
            Arc::new(list),
        ];
        let batch = RecordBatch::try_new(schema(&columns), arrays).unwrap();
        let mut out = format.head(&columns).unwrap();
        out.extend(format.rows(&columns, &batch.slice(0, 1)).unwrap());
        out.extend(format.between());
        out.extend(format.rows(&columns, &batch.slice(1, 2)).unwrap());
        out.extend(format.tail());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let expected = "flag,count,amount,label,any,list\n\
            true,1,100.10,\"a, \"\"b\"\"\nc\",\"x,\n\",\"[1,2]\"\n\
            false,-2,1e3,é,1.0,[]\n,,,,,\n";
        assert_eq!(written(TextFormat::Csv { header: true }), expected);
        assert!(written(TextFormat::Csv { header: false }).starts_with("true,1"));
    }

    #[test]
    fn json_keeps_types_and_digits() {
        let rows = [
            r#"{"flag":true,"count":1,"amount":100.10,"label":"a, \"b\"\nc","any":"x,\n","list":[1,2]}"#,
            r#"{"flag":false,"count":-2,"amount":1e3,"label":"é","any":1.0,"list":[]}"#,
            r#"{"flag":null,"count":null,"amount":null,"label":null,"any":null,"list":null}"#,
        ];
        assert_eq!(written(TextFormat::Json), format!("[{}]", rows.join(",\n")));
        assert_eq!(written(TextFormat::Ndjson), format!("{}\n", rows.join("\n")));
    }
}
