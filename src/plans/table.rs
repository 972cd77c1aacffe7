//! The table of a publication and year, in memory and as a Parquet file. It has one row for each plan and segment, or
//! for each contract. The rows are sorted by these ids.
//!
//! | column | type | |
//! |---|---|---|
//! | `contract` | text | such as `H1234` |
//! | `plan` | text | 3 digits; null in publications about contracts |
//! | `segment` | text | 3 digits; null in publications without segments |
//! | the names in `FIELDS` | text | null if unknown; amounts are decimals |
//! | `areas` | list of (`state`, `county`) | `county` is null for the whole state |

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListBuilder, RecordBatch, StringArray, StringBuilder, StructBuilder};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::columns::FIELDS;

/// The number of rows in a record batch.
const BATCH: usize = 4 << 10;
/// The maximum numbers of rows, of their areas, and of bytes of distinct texts.
const MAX_ROWS: usize = 1_000_000;
const MAX_AREAS: usize = 50_000_000;
const MAX_TEXT: usize = 1 << 30;

/// The name of a limit that was exceeded, and its value.
type Full = (&'static str, usize);

/// A plan with its segment, or a contract. Each number is the index of a text in the table. 0 is the empty text.
#[derive(Clone, Debug)]
struct Row {
    id: [u32; 3],
    fields: [u32; FIELDS.len()],
    areas: Vec<(u32, u32)>,
}

/// A table in memory. It has each distinct text once.
#[derive(Debug, Default)]
pub(super) struct Table {
    texts: Vec<Box<str>>,
    rows: Vec<Row>,
}

/// A row, with the table that has the row's texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held<'t> {
    table: &'t Table,
    row: &'t Row,
}

impl<'t> Held<'t> {
    pub(super) fn plan(self) -> &'t str {
        self.table.text(self.row.id[1])
    }

    pub(super) fn segment(self) -> &'t str {
        self.table.text(self.row.id[2])
    }

    /// Returns a fact of `FIELDS`. Empty if it is unknown.
    pub(super) fn field(self, number: usize) -> &'t str {
        self.table.text(self.row.fields[number])
    }

    /// Returns pairs of a state and a county. An empty county means the whole state.
    pub(super) fn areas(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let areas = self.row.areas.iter();
        areas.map(move |(state, county)| (self.table.text(*state), self.table.text(*county)))
    }
}

impl Table {
    fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    fn id(&self, row: &Row) -> [&str; 3] {
        row.id.map(|number| self.text(number))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the total number of areas of all rows.
    pub(super) fn areas(&self) -> usize {
        self.rows.iter().map(|row| row.areas.len()).sum()
    }

    /// Returns the rows of a contract, in order.
    pub(super) fn contract(&self, contract: &str) -> impl Iterator<Item = Held<'_>> {
        let start = self.rows.partition_point(|row| self.text(row.id[0]) < contract);
        let end = self.rows.partition_point(|row| self.text(row.id[0]) <= contract);
        self.rows[start..end].iter().map(|row| Held { table: self, row })
    }

    /// Returns how many rows of this table `other` does not have. Two rows are the same if their ids are equal.
    pub(super) fn lost_in(&self, other: &Table) -> usize {
        let mut others = other.rows.iter().map(|row| other.id(row)).peekable();
        let mut lost = 0;
        for row in &self.rows {
            let id = self.id(row);
            while others.next_if(|other| *other < id).is_some() {}
            lost += usize::from(others.peek() != Some(&id));
        }
        lost
    }
}

/// A table that is being built.
#[derive(Debug, Default)]
pub(super) struct Builder {
    numbers: HashMap<Box<str>, u32>,
    bytes: usize,
    places: HashMap<[u32; 3], usize>,
    rows: Vec<Row>,
    areas: usize,
}

impl Builder {
    /// Returns the index of the row with this id, and whether it was added now.
    pub(super) fn row(&mut self, contract: &str, plan: &str, segment: &str) -> Result<(usize, bool), Full> {
        let id = [self.number(contract)?, self.number(plan)?, self.number(segment)?];
        if let Some(place) = self.places.get(&id) {
            return Ok((*place, false));
        }
        if self.rows.len() == MAX_ROWS {
            return Err(("plans", MAX_ROWS));
        }
        let place = self.rows.len();
        self.places.insert(id, place);
        self.rows.push(Row {
            id,
            fields: [0; FIELDS.len()],
            areas: Vec::new(),
        });
        Ok((place, true))
    }

    pub(super) fn field(&mut self, row: usize, field: usize, text: &str) -> Result<(), Full> {
        self.rows[row].fields[field] = self.number(text)?;
        Ok(())
    }

    pub(super) fn area(&mut self, row: usize, state: &str, county: &str) -> Result<(), Full> {
        if self.areas == MAX_AREAS {
            return Err(("areas of plans", MAX_AREAS));
        }
        let area = (self.number(state)?, self.number(county)?);
        self.rows[row].areas.push(area);
        self.areas += 1;
        Ok(())
    }

    fn number(&mut self, text: &str) -> Result<u32, Full> {
        if text.is_empty() {
            return Ok(0);
        }
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        self.bytes += text.len();
        if self.bytes > MAX_TEXT {
            return Err(("bytes of text", MAX_TEXT));
        }
        let number = u32::try_from(self.numbers.len() + 1).map_err(|_| ("texts", u32::MAX as usize))?;
        self.numbers.insert(text.into(), number);
        Ok(number)
    }

    /// Returns the table, sorted by the ids of its rows.
    pub(super) fn finish(self) -> Table {
        let mut texts = vec![Box::from(""); self.numbers.len() + 1];
        for (text, number) in self.numbers {
            texts[number as usize] = text;
        }
        let mut table = Table { texts, rows: self.rows };
        let mut rows = std::mem::take(&mut table.rows);
        for row in &mut rows {
            row.areas
                .sort_unstable_by_key(|area| (table.text(area.0), table.text(area.1)));
            row.areas.dedup();
            row.areas.shrink_to_fit();
        }
        rows.sort_unstable_by_key(|row| table.id(row));
        table.rows = rows;
        table
    }
}

fn area_fields() -> Fields {
    Fields::from(vec![
        Field::new("state", DataType::Utf8, false),
        Field::new("county", DataType::Utf8, true),
    ])
}

fn area_element() -> Field {
    Field::new("element", DataType::Struct(area_fields()), false)
}

fn schema() -> SchemaRef {
    let mut fields = vec![
        Field::new("contract", DataType::Utf8, false),
        Field::new("plan", DataType::Utf8, true),
        Field::new("segment", DataType::Utf8, true),
    ];
    fields.extend(FIELDS.iter().map(|name| Field::new(*name, DataType::Utf8, true)));
    fields.push(Field::new("areas", DataType::List(Arc::new(area_element())), false));
    Arc::new(Schema::new(fields))
}

/// Encodes a table as a Parquet file.
pub(super) fn write(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    let schema = schema();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), Some(properties))?;
    for start in (0..table.len()).step_by(BATCH) {
        writer.write(&batch(table, &schema, start..table.len().min(start + BATCH))?)?;
    }
    writer.close()?;
    Ok(file)
}

fn batch(table: &Table, schema: &SchemaRef, range: Range<usize>) -> Result<RecordBatch, ParquetError> {
    let rows = &table.rows[range];
    let column = |number: &dyn Fn(&Row) -> u32| -> ArrayRef {
        let texts = rows
            .iter()
            .map(|row| Some(table.text(number(row))).filter(|text| !text.is_empty()));
        Arc::new(texts.collect::<StringArray>())
    };
    let mut columns: Vec<ArrayRef> = (0..3).map(|part| column(&|row| row.id[part])).collect();
    columns.extend((0..FIELDS.len()).map(|field| column(&|row| row.fields[field])));
    let area = StructBuilder::new(
        area_fields(),
        vec![Box::new(StringBuilder::new()), Box::new(StringBuilder::new())],
    );
    let mut areas = ListBuilder::new(area).with_field(area_element());
    for row in rows {
        for (state, county) in &row.areas {
            let area = areas.values();
            for (column, text) in [table.text(*state), table.text(*county)].into_iter().enumerate() {
                if let Some(builder) = area.field_builder::<StringBuilder>(column) {
                    builder.append_option(Some(text).filter(|text| column == 0 || !text.is_empty()));
                }
            }
            area.append(true);
        }
        areas.append(true);
    }
    columns.push(Arc::new(areas.finish()));
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

/// Decodes a table from a Parquet file.
pub(super) fn read(file: Bytes) -> Result<Table, ParquetError> {
    let mut builder = Builder::default();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file)?
        .with_batch_size(BATCH)
        .build()?
    {
        take(&mut builder, &batch?)
            .ok_or_else(|| ParquetError::General("its columns are not those of a table of plans".into()))?;
    }
    Ok(builder.finish())
}

fn take(builder: &mut Builder, batch: &RecordBatch) -> Option<()> {
    let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let text = |column: &StringArray, row: usize| {
        if column.is_null(row) {
            String::new()
        } else {
            column.value(row).to_owned()
        }
    };
    let id = [texts("contract")?, texts("plan")?, texts("segment")?];
    let fields: Option<Vec<&StringArray>> = FIELDS.iter().map(|name| texts(name)).collect();
    let fields = fields?;
    let areas = batch.column_by_name("areas")?.as_list_opt::<i32>()?;
    let pairs = areas.values().as_struct_opt()?;
    let states = pairs.column_by_name("state")?.as_string_opt::<i32>()?;
    let counties = pairs.column_by_name("county")?.as_string_opt::<i32>()?;
    let ends = areas.value_offsets();
    for row in 0..batch.num_rows() {
        let [contract, plan, segment] = id.map(|column| text(column, row));
        let (place, _) = builder.row(&contract, &plan, &segment).ok()?;
        for (number, column) in fields.iter().enumerate() {
            builder.field(place, number, &text(column, row)).ok()?;
        }
        for at in usize::try_from(ends[row]).ok()?..usize::try_from(ends[row + 1]).ok()? {
            builder.area(place, states.value(at), &text(counties, at)).ok()?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ids: &[[&str; 3]]) -> Table {
        let mut builder = Builder::default();
        for [contract, plan, segment] in ids {
            let (row, is_new) = builder.row(contract, plan, segment).unwrap();
            assert!(is_new);
            builder.field(row, 0, &format!("Plan {plan}")).unwrap();
            builder.area(row, "IL", "Will").unwrap();
            builder.area(row, "IL", "Cook").unwrap();
            builder.area(row, "IL", "Cook").unwrap();
            builder.area(row, "DC", "").unwrap();
        }
        builder.finish()
    }

    #[test]
    fn what_is_written_is_read() {
        let table = sample(&[
            ["R1", "001", "000"],
            ["H1", "002", ""],
            ["H1", "", ""],
            ["H1", "002", "001"],
        ]);
        let table = read(Bytes::from(write(&table).unwrap())).unwrap();
        let rows: Vec<_> = table
            .contract("H1")
            .map(|row| (row.plan(), row.segment(), row.field(0)))
            .collect();
        assert_eq!(
            rows,
            [("", "", "Plan "), ("002", "", "Plan 002"), ("002", "001", "Plan 002")]
        );
        let areas: Vec<_> = table.contract("R1").next().unwrap().areas().collect();
        assert_eq!(areas, [("DC", ""), ("IL", "Cook"), ("IL", "Will")]);
        assert_eq!((table.len(), table.areas()), (4, 12));
        assert_eq!(table.contract("H2").count(), 0);
        assert!(read(Bytes::from_static(b"PAR1 and not much else PAR1")).is_err());
    }

    #[test]
    fn lost_rows_are_counted() {
        let (one, other) = (
            sample(&[["H1", "001", "000"], ["H1", "002", "000"], ["H2", "001", "000"]]),
            sample(&[["H0", "001", "000"], ["H1", "002", "000"], ["H3", "001", "000"]]),
        );
        assert_eq!((one.lost_in(&other), other.lost_in(&one), one.lost_in(&one)), (2, 2, 0));
    }
}
