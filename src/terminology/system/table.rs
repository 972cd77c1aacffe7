//! Writes and reads a code system as a Parquet file: one row for each concept, in the order of the codes.
//!
//! | column | type | |
//! |---|---|---|
//! | `code` | text | |
//! | `display` | text | null if the concept has no display |
//! | `parents` | list of text | the codes directly above the concept; left out if no concept has parents |
//! | `properties` | list of (`property`, `value`) | left out if no concept has properties |
//! | `ndcs` | list of text | the National Drug Codes of an RxNorm concept, 11 digits; left out if there are none |
//!
//! The footer's key `tabularium.terminology` has the rest as JSON: URL, version, and whether the codes are
//! case-sensitive, complete and subsuming.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, ListBuilder, RecordBatch, StringArray, StringBuilder, StructBuilder};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::super::codes::ndc;
use super::super::codes::ndc::Ndcs;
use super::code_system::{CodeSystem, Head};
use super::links::Links;
use super::properties::PropertiesBuilder;
use super::texts::Texts;

/// The key of the metadata in the footer.
const KEY: &str = "tabularium.terminology";
/// The number of rows in a record batch. `ROW_GROUP` is the number of rows in a row group.
const BATCH: usize = 16 << 10;
const ROW_GROUP: usize = 128 << 10;

/// Returns the content of a system's file.
pub(in crate::terminology) fn write(system: &CodeSystem) -> Result<Vec<u8>, ParquetError> {
    let schema = schema(system);
    let head = serde_json::to_string(system.head()).map_err(|error| ParquetError::External(error.into()))?;
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(
        &mut file,
        schema.clone(),
        Some(properties(vec![KeyValue::new(KEY.to_string(), head)])?),
    )?;
    let (_, _, ndcs) = system.columns();
    let mut of_place: Vec<(u32, u64)> = ndcs.pairs().map(|(ndc, place)| (place, ndc)).collect();
    of_place.sort_unstable();
    let count = system.len() as u32;
    for start in (0..count).step_by(BATCH) {
        let range = start..count.min(start + BATCH as u32);
        writer.write(&batch(system, &schema, range, &of_place)?)?;
    }
    writer.close()?;
    Ok(file)
}

/// Returns the writer properties of Parquet files with terminology.
pub(in crate::terminology) fn properties(keys: Vec<KeyValue>) -> Result<WriterProperties, ParquetError> {
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_key_value_metadata(Some(keys))
        .build())
}

fn texts(name: &str) -> Field {
    Field::new(
        name,
        DataType::List(Arc::new(Field::new("element", DataType::Utf8, false))),
        false,
    )
}

fn property_fields() -> Fields {
    Fields::from(vec![
        Field::new("property", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

fn schema(system: &CodeSystem) -> SchemaRef {
    let (parents, properties, ndcs) = system.columns();
    let mut fields = vec![
        Field::new("code", DataType::Utf8, false),
        Field::new("display", DataType::Utf8, true),
    ];
    if !parents.is_empty() {
        fields.push(texts("parents"));
    }
    if !properties.is_empty() {
        let element = Field::new("element", DataType::Struct(property_fields()), false);
        fields.push(Field::new("properties", DataType::List(Arc::new(element)), false));
    }
    if !ndcs.is_empty() {
        fields.push(texts("ndcs"));
    }
    Arc::new(Schema::new(fields))
}

fn list_of_texts() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new()).with_field(Field::new("element", DataType::Utf8, false))
}

fn batch(
    system: &CodeSystem,
    schema: &SchemaRef,
    range: std::ops::Range<u32>,
    ndcs: &[(u32, u64)],
) -> Result<RecordBatch, ParquetError> {
    let (parents, properties, _) = system.columns();
    let codes = StringArray::from_iter_values(range.clone().map(|place| system.code(place)));
    let displays: StringArray = range.clone().map(|place| system.display_at(place)).collect();
    let mut columns: Vec<ArrayRef> = vec![Arc::new(codes), Arc::new(displays)];
    for field in &schema.fields()[2..] {
        columns.push(match field.name().as_str() {
            "parents" => {
                let mut list = list_of_texts();
                for place in range.clone() {
                    parents
                        .of(place)
                        .iter()
                        .for_each(|parent| list.values().append_value(system.code(*parent)));
                    list.append(true);
                }
                Arc::new(list.finish())
            }
            "ndcs" => {
                let mut list = list_of_texts();
                let mut next = ndcs.partition_point(|(place, _)| *place < range.start);
                for place in range.clone() {
                    while let Some((_, ndc)) = ndcs.get(next).filter(|(of, _)| *of == place) {
                        list.values().append_value(ndc::text(*ndc));
                        next += 1;
                    }
                    list.append(true);
                }
                Arc::new(list.finish())
            }
            _ => {
                let element = Field::new("element", DataType::Struct(property_fields()), false);
                let pair = StructBuilder::new(
                    property_fields(),
                    vec![Box::new(StringBuilder::new()), Box::new(StringBuilder::new())],
                );
                let mut list = ListBuilder::new(pair).with_field(element);
                for place in range.clone() {
                    for (name, value) in properties.of(place) {
                        let pair = list.values();
                        for (column, text) in [name, value].into_iter().enumerate() {
                            if let Some(builder) = pair.field_builder::<StringBuilder>(column) {
                                builder.append_value(text);
                            }
                        }
                        pair.append(true);
                    }
                    list.append(true);
                }
                Arc::new(list.finish())
            }
        });
    }
    Ok(RecordBatch::try_new(schema.clone(), columns)?)
}

/// Reads the system in a file.
pub(in crate::terminology) fn read(file: Bytes) -> Result<CodeSystem, ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let keys = builder.metadata().file_metadata().key_value_metadata();
    let head = keys.and_then(|keys| keys.iter().find(|key| key.key == KEY)?.value.as_deref());
    let head: Head = head
        .and_then(|head| serde_json::from_str(head).ok())
        .ok_or_else(|| ParquetError::General(format!("the footer has no key {KEY}")))?;
    let mut reading = Reading::default();
    for batch in builder.with_batch_size(BATCH).build()? {
        reading
            .take(&batch?)
            .ok_or_else(|| ParquetError::General("its columns are not those of a code system".into()))?;
    }
    Ok(reading.finish(head))
}

/// A system while its record batches are read.
#[derive(Default)]
struct Reading {
    codes: Texts,
    displays: Texts,
    /// The codes of parents. `children` has at the same position the index of the concept below the parent.
    parents: Texts,
    children: Vec<u32>,
    properties: PropertiesBuilder,
    ndcs: Vec<(u64, u32)>,
}

impl Reading {
    fn take(&mut self, batch: &RecordBatch) -> Option<()> {
        let first = self.codes.len() as u32;
        for code in batch.column_by_name("code")?.as_string_opt::<i32>()? {
            self.codes.push(code?)?;
        }
        for display in batch.column_by_name("display")?.as_string_opt::<i32>()? {
            self.displays.push(display.unwrap_or_default())?;
        }
        if let Some(parents) = batch.column_by_name("parents") {
            let list = parents.as_list_opt::<i32>()?;
            let codes = list.values().as_string_opt::<i32>()?;
            for (row, ends) in list.value_offsets().windows(2).enumerate() {
                for at in ends[0]..ends[1] {
                    self.parents.push(codes.value(at as usize))?;
                    self.children.push(first + row as u32);
                }
            }
        }
        if let Some(properties) = batch.column_by_name("properties") {
            let list = properties.as_list_opt::<i32>()?;
            let pairs = list.values().as_struct_opt()?;
            let names = pairs.column_by_name("property")?.as_string_opt::<i32>()?;
            let values = pairs.column_by_name("value")?.as_string_opt::<i32>()?;
            for (row, ends) in list.value_offsets().windows(2).enumerate() {
                for at in ends[0] as usize..ends[1] as usize {
                    self.properties
                        .add(first + row as u32, names.value(at), values.value(at))?;
                }
            }
        }
        if let Some(ndcs) = batch.column_by_name("ndcs") {
            let list = ndcs.as_list_opt::<i32>()?;
            let codes = list.values().as_string_opt::<i32>()?;
            for (row, ends) in list.value_offsets().windows(2).enumerate() {
                for at in ends[0]..ends[1] {
                    self.ndcs
                        .push((ndc::number(codes.value(at as usize))?, first + row as u32));
                }
            }
        }
        Some(())
    }

    fn finish(mut self, head: Head) -> CodeSystem {
        let count = self.codes.len();
        self.codes.shrink();
        self.displays.shrink();
        let properties = self.properties.finish(count, |place| place);
        let system = CodeSystem::new(
            head,
            self.codes,
            self.displays,
            Links::default(),
            properties,
            Ndcs::new(self.ndcs),
        );
        let parents = self.parents.iter().zip(&self.children);
        let pairs = parents.filter_map(|(parent, child)| Some((*child, system.place(parent)?)));
        let pairs: Vec<(u32, u32)> = pairs.collect();
        system.with_parents(Links::new(count, pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminology::system::builder::Builder;

    fn sample() -> CodeSystem {
        let mut builder = Builder::new(Head::complete("http://example.org/cs", Some("2".to_string())));
        let (b, _) = builder.concept("b").unwrap();
        let (a, _) = builder.concept("a").unwrap();
        let (c, _) = builder.concept("c").unwrap();
        builder.display(a, "An a").unwrap();
        builder.display(b, "A b").unwrap();
        builder.join(a, b);
        builder.join(c, b);
        builder.property(b, "TTY", "SCD").unwrap();
        builder.property(b, "ingredient", "a").unwrap();
        builder.property(a, "TTY", "IN").unwrap();
        builder.ndc(2_143_380, b);
        builder.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let read = read(Bytes::from(write(&sample()).unwrap())).unwrap();
        assert_eq!(read.head(), sample().head());
        assert_eq!(read.len(), 3);
        assert_eq!(read.display("b"), Some("A b"));
        assert_eq!(read.display("c"), None);
        assert_eq!(read.parents("b"), ["a", "c"]);
        assert_eq!(read.subsumes("c", "b"), Some(true));
        assert_eq!(read.properties("b"), [("TTY", "SCD"), ("ingredient", "a")]);
        assert_eq!(read.columns().2.place("00002143380"), read.place("b"));
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        assert!(read(Bytes::from_static(b"PAR1 and not much else PAR1")).is_err());
        let schema = Arc::new(Schema::new(vec![Field::new("code", DataType::Utf8, false)]));
        let mut file = Vec::new();
        ArrowWriter::try_new(&mut file, schema, None).unwrap().close().unwrap();
        let error = read(Bytes::from(file)).unwrap_err().to_string();
        assert!(error.contains(KEY), "{error}");
    }
}
