//! Makes rows of a column chunk blank. Copies all pages in which no erased row has a value.
//!
//! A page with such a value is decoded and encoded again, in the encoding that it has. A dictionary entry that only
//! erased rows have loses its value. Statistics and page indexes are computed from those of the pages. If that is not
//! possible, or if the chunk has a bloom filter, the whole chunk is encoded anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use parquet::basic::{Encoding, Type};
use parquet::column::reader::{get_column_reader, get_typed_column_reader};
use parquet::column::writer::{get_column_writer, get_typed_column_writer};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use rustc_hash::FxHashSet;

use super::blank::{Blank, blank};
use super::new_pages::{assembled, encoded, sum, unused};
use super::pages::{InMemory, Pages, compressed, decode_codes, split, with_header, without_entries};
use super::records::{Blanked, Fill, Maximum, Records};
use crate::lake::file::{CheckedFile, ColumnChunk, CopiedColumn};

/// Rows of a row group that become blank.
pub(super) struct BlankRows<'b> {
    pub(super) file: &'b CheckedFile,
    /// The footer of the file, with its page indexes and with the encodings of its pages as a list.
    pub(super) metadata: &'b ParquetMetaData,
    pub(super) group: usize,
    /// The positions of the rows in the row group. They ascend, and the first row is not among them.
    pub(super) rows: Vec<usize>,
    /// The properties for chunks that are encoded anew.
    pub(super) properties: WriterPropertiesPtr,
}

impl BlankRows<'_> {
    /// Returns the column chunk of a leaf in which the rows are blank. `None` if this cannot be done without decoding
    /// whole rows.
    pub(super) fn column(&self, leaf: usize) -> Result<Option<CopiedColumn>, ParquetError> {
        let column = CopiedColumn::read(self.file, self.metadata, self.group, leaf)?;
        let chunk = &column.closed.metadata;
        let what = match chunk.column_path().parts() {
            [name] => blank(name),
            _ => Blank::Null,
        };
        let nulls = chunk.definition_level_histogram().and_then(|levels| levels.get(0));
        if matches!(what, Blank::Null) && nulls == Some(chunk.num_values()) {
            return Ok(Some(column));
        }
        macro_rules! of {
            ($type:ty) => {
                match what {
                    Blank::Null => self.of_type::<$type>(column, &Fill::Null),
                    Blank::Neighbour => self.of_type::<$type>(column, &Fill::Neighbour),
                    Blank::Made(_) | Blank::Always(_) => Ok(None),
                }
            };
        }
        match column.closed.metadata.column_type() {
            Type::BOOLEAN => of!(BoolType),
            Type::INT32 => of!(Int32Type),
            Type::INT64 => of!(Int64Type),
            Type::FLOAT => of!(FloatType),
            Type::DOUBLE => of!(DoubleType),
            Type::BYTE_ARRAY => match what {
                Blank::Always(text) => self.of_type::<ByteArrayType>(column, &Fill::Always(text.into())),
                Blank::Made(make) => {
                    let made = |last: &ByteArray| make(&String::from_utf8_lossy(last.data())).into_bytes().into();
                    self.of_type::<ByteArrayType>(column, &Fill::Made(&made))
                }
                _ => of!(ByteArrayType),
            },
            Type::FIXED_LEN_BYTE_ARRAY => of!(FixedLenByteArrayType),
            Type::INT96 => Ok(None),
        }
    }

    fn of_type<T: DataType>(
        &self,
        column: CopiedColumn,
        fill: &Fill<'_, T::T>,
    ) -> Result<Option<CopiedColumn>, ParquetError> {
        // A bloom filter has a bit for each erased value, too.
        if column.closed.bloom_filter.is_some() {
            return self.encoded_anew::<T>(&column, fill);
        }
        match self.page_by_page::<T>(&column, fill)? {
            Some(Outcome::Unchanged) => Ok(Some(column)),
            Some(Outcome::Changed(changed)) => Ok(Some(*changed)),
            None => self.encoded_anew::<T>(&column, fill),
        }
    }

    /// Encodes all rows of a chunk anew.
    fn encoded_anew<T: DataType>(
        &self,
        column: &CopiedColumn,
        fill: &Fill<'_, T::T>,
    ) -> Result<Option<CopiedColumn>, ParquetError> {
        let (chunk, rows) = (&column.closed.metadata, column.closed.rows_written as usize);
        let leaf = chunk.column_descr_ptr();
        let pages = SerializedPageReader::new(Arc::new(column.chunk.clone()), chunk, rows, None)?;
        let mut reader = get_typed_column_reader::<T>(get_column_reader(Arc::clone(&leaf), Box::new(pages)));
        let records = Records::read(&mut reader, Maximum::of(&leaf), rows)?;
        let Some(Blanked { records, .. }) = records.blanked(&self.rows, fill, None) else {
            return Ok(None);
        };
        let mut sink = TrackedWrite::new(Vec::with_capacity(column.chunk.bytes.len()));
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let writer = get_column_writer(leaf, Arc::clone(&self.properties), pages);
        let mut writer = get_typed_column_writer::<T>(writer);
        records.write(&mut writer)?;
        let closed = writer.close()?;
        let made = CopiedColumn {
            chunk: ColumnChunk {
                start: 0,
                bytes: sink.into_inner()?.into(),
            },
            closed,
            sums: Vec::new(),
        };
        let Some(pages) = Pages::of(&made) else { return Ok(None) };
        let data = (0..pages.len()).map(|page| pages.bytes(page));
        let sums = std::iter::once(pages.dictionary_bytes()).chain(data);
        let sums = sums.filter(|page| !page.is_empty()).map(|page| sum(&page)).collect();
        Ok(Some(CopiedColumn { sums, ..made }))
    }

    /// Encodes only those pages anew in which a row that becomes blank has a value. `None` if that is not possible.
    fn page_by_page<T: DataType>(
        &self,
        column: &CopiedColumn,
        fill: &Fill<'_, T::T>,
    ) -> Result<Option<Outcome>, ParquetError> {
        let Some(pages) = Pages::of(column) else {
            return Ok(None);
        };
        let mut blank: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut page = 0;
        for row in &self.rows {
            while pages.rows(page).end <= *row {
                page += 1;
            }
            blank.entry(page).or_default().push(row - pages.rows(page).start);
        }
        // A page that begins with a blank row needs its neighbour, which is in an earlier page.
        let needs_neighbour = matches!(fill, Fill::Neighbour | Fill::Made(_));
        let begins_blank = |rows: &[usize]| needs_neighbour && rows.first() == Some(&0);
        let pages_before = blank
            .iter()
            .filter(|(_, rows)| begins_blank(rows))
            .filter_map(|(page, _)| page.checked_sub(1));
        for page in pages_before.collect::<Vec<_>>() {
            blank.entry(page).or_default();
        }
        let leaf = column.closed.metadata.column_descr_ptr();
        let (mut reading, in_memory) = (pages.reading()?, InMemory::default());
        reading.dictionary.iter().for_each(|page| in_memory.put(page.clone()));
        let reader = get_column_reader(Arc::clone(&leaf), Box::new(in_memory.clone()));
        let mut reader = get_typed_column_reader::<T>(reader);
        let has_statistics = column.closed.metadata.statistics().is_some();
        let compression = column.closed.metadata.compression();
        let (mut changed, mut gone) = (BTreeMap::new(), FxHashSet::default());
        let mut neighbour = None;
        for (at, rows) in &blank {
            let page = reading.page(*at)?;
            let is_coded = page.encoding() == Encoding::RLE_DICTIONARY;
            if is_coded && reading.dictionary.is_none() {
                return Ok(None);
            }
            in_memory.put(page.clone());
            let mut records = Records::read(&mut reader, Maximum::of(&leaf), pages.rows(*at).len())?;
            if matches!(fill, Fill::Null) && records.are_null(rows) {
                continue;
            }
            if is_coded {
                let Some((_, values)) = split(&page, &leaf) else {
                    return Ok(None);
                };
                let codes = decode_codes(values, records.values())?;
                records = records.with_codes(codes);
            }
            if !rows.is_empty() {
                let Some(made) = records.blanked(rows, fill, neighbour.as_ref()) else {
                    return Ok(None);
                };
                let Some(new) = encoded::<T>(&page, &records, &made.records, &leaf, (compression, has_statistics))?
                else {
                    return Ok(None);
                };
                gone.extend(made.gone);
                changed.insert(*at, new);
            }
            if needs_neighbour {
                neighbour = records.last_without(rows).or(neighbour);
            }
        }
        if changed.is_empty() {
            return Ok(Some(Outcome::Unchanged));
        }
        let Some(unused) = unused(column, &pages, &changed, gone)? else {
            return Ok(None);
        };
        let dictionary = match &reading.dictionary {
            Some(page) if !unused.is_empty() => {
                let page = without_entries(page, &leaf, |entry| unused.contains(&(entry as u32)));
                let Some(page) = page.and_then(|page| compressed(page, compression)) else {
                    return Ok(None);
                };
                with_header(page)?
            }
            _ => pages.dictionary_bytes(),
        };
        Ok(assembled(column, &pages, dictionary, &changed)?.map(|column| Outcome::Changed(Box::new(column))))
    }
}

/// The result of encoding single pages.
enum Outcome {
    /// All rows that become blank have no value in the chunk.
    Unchanged,
    Changed(Box<CopiedColumn>),
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, UInt32Array};
    use arrow::compute::{concat_batches, filter_record_batch, not, take_record_batch};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
    use parquet::file::metadata::PageIndexPolicy;
    use parquet::file::page_index::column_index::ColumnIndexMetaData;
    use proptest::prelude::*;

    use super::super::pages::uncompressed_size;
    use super::super::rewrite;
    use super::*;
    use crate::columns::json::Tape;
    use crate::columns::layout::Layout;
    use crate::columns::shred::{Shredder, SystemValues};
    use crate::fhir::{TypeId, facts};
    use crate::lake::file::{verify_checksums, write_file};
    use crate::lake::seal::Keys;

    const ROWS: usize = 3_000;

    fn type_id() -> TypeId {
        facts().lookup("Observation").unwrap()
    }

    /// Observations of persons with 50 rows each. Texts that only one person has contain `of-` and the number of the
    /// person.
    fn observations() -> RecordBatch {
        let (mut shredder, mut tape) = (Shredder::new(type_id()), Tape::new());
        for at in 0..ROWS {
            let (id, person) = (format!("o{at:06}"), at / 50);
            let mut text = format!(
                r#"{{"resourceType":"Observation","id":"{id}","status":"{}","subject":{{"reference":"Patient/of-{person}"}}"#,
                ["final", "amended"][at % 2],
            );
            let codings = |count: usize| {
                let coding = |at: usize| format!(r#"{{"system":"http://s.example","code":"c{}"}}"#, at % 7);
                (0..count).map(coding).collect::<Vec<_>>().join(",")
            };
            text += &format!(
                r#","code":{{"coding":[{}],"text":"of-{person} at {at}"}}"#,
                codings(at % 4)
            );
            match at % 5 {
                0 => text += &format!(r#","valueQuantity":{{"value":{at}.5,"unit":"unit-{}"}}"#, at % 3),
                1 => text += r#","valueBoolean":true"#,
                2 => text += &format!(r#","valueInteger":{}"#, at as i64 - 900),
                _ => {}
            }
            if at % 3 == 0 {
                let component = format!(
                    r#"{{"code":{{"coding":[{}]}},"valueString":"of-{person}"}}"#,
                    codings(at % 3)
                );
                text += &format!(r#","component":[{component},{{"code":{{"text":"shared"}}}}]"#);
            }
            if person == 31 {
                text += r#","effectiveDateTime":"1900-01-01T00:00:00Z","issued":"1900-01-02T00:00:00Z""#;
            } else if at < 2_500 {
                text += &format!(r#","effectiveDateTime":"2024-01-{:02}T10:00:00Z""#, 1 + at % 28);
            }
            text.push('}');
            let patient = format!("of-{person}");
            let system = SystemValues {
                owner: person as i64 + 2,
                patient: Some(&patient),
                application: "local",
                ..SystemValues::outside(&id, &text)
            };
            shredder.push(&system, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        shredder.finish().unwrap()
    }

    fn metadata(path: &Path) -> (CheckedFile, ArrowReaderMetadata) {
        let file = CheckedFile::open(path, &Keys::none()).unwrap();
        let options = ArrowReaderOptions::new()
            .with_page_index_policy(PageIndexPolicy::Required)
            .with_encoding_stats_as_mask(false);
        let metadata = file.metadata(path, options).unwrap();
        (file, metadata)
    }

    fn all(path: &Path) -> RecordBatch {
        let (file, _) = metadata(path);
        let batches: Vec<RecordBatch> = file.rows(path).unwrap().build().unwrap().map(Result::unwrap).collect();
        concat_batches(batches[0].schema_ref(), &batches).unwrap()
    }

    /// Rewrites a file of Observations without some rows. Then compares it with a file that has the same rows and was
    /// encoded as a whole.
    fn check(erased: &[u64]) {
        let batch = observations();
        let schema = Layout::new(type_id()).adopt(batch.schema_ref()).unwrap().schema;
        let dir = tempfile::tempdir().unwrap();
        let [old, new, whole] = ["old", "new", "whole"].map(|name| dir.path().join(name));
        write_file(&old, type_id(), &schema, [&batch], &Keys::none()).unwrap();
        let written = rewrite(&old, &new, type_id(), (ROWS as u64, erased), &Keys::none()).unwrap();
        verify_checksums(&new, &Keys::none()).unwrap();
        let (before, after) = (all(&old), all(&new));
        let expected = write_file(&whole, type_id(), after.schema_ref(), [&after], &Keys::none()).unwrap();

        // The catalog gets the same facts.
        assert_eq!((written.rows, &written.columns), (expected.rows, &expected.columns));
        assert_eq!(
            (&written.owners, &written.versions),
            (&expected.owners, &expected.versions)
        );
        assert_eq!(written.last_updated, expected.last_updated);
        // Blank rows are blank. The others are as they were.
        let is_blank = |row: usize| erased.contains(&(row as u64));
        let blanks: BooleanArray = (0..ROWS).map(|row| Some(is_blank(row))).collect();
        let kept = not(&blanks).unwrap();
        let of = |batch: &RecordBatch, rows: &BooleanArray| filter_record_batch(batch, rows).unwrap();
        assert_eq!(of(&after, &kept), of(&before, &kept));
        let (blank_rows, neighbours) = (of(&after, &blanks), {
            let neighbour = |row: usize| (0..row).rev().find(|row| !is_blank(*row)).unwrap() as u32;
            let rows: UInt32Array = (0..ROWS).filter(|row| is_blank(*row)).map(neighbour).collect();
            take_record_batch(&before, &rows).unwrap()
        });
        for (at, field) in after.schema().fields().iter().enumerate() {
            let (have, neighbours) = (blank_rows.column(at), neighbours.column(at));
            let texts = || have.as_string::<i32>().iter().zip(neighbours.as_string::<i32>());
            match blank(field.name()) {
                Blank::Null => assert_eq!(have.null_count(), have.len(), "{}", field.name()),
                Blank::Neighbour => assert_eq!(have, neighbours, "{}", field.name()),
                Blank::Made(_) => assert!(texts().all(|(id, of)| id.unwrap() == format!("{}!", of.unwrap()))),
                Blank::Always(_) => assert!(texts().all(|(resource, _)| resource == Some("{}"))),
            }
        }
        same_statistics(&new, &whole);
        // No page and no index has a value that only erased rows had.
        let persons: std::collections::BTreeSet<usize> = erased.iter().map(|row| *row as usize / 50).collect();
        let all_of = |person: &usize| (person * 50..(person + 1) * 50).all(is_blank);
        for person in persons.iter().filter(|person| all_of(person)) {
            for text in texts(&new) {
                let gone = format!("of-{person}");
                let has = memchr::memmem::find_iter(&text, &gone)
                    .any(|at| !text[at + gone.len()..].first().is_some_and(u8::is_ascii_digit));
                assert!(!has, "person {person}");
            }
        }
    }

    /// Asserts that both files have the same statistics and page indexes.
    fn same_statistics(one: &Path, other: &Path) {
        let ((file, one), (_, other)) = (metadata(one), metadata(other));
        let (one, other) = (one.metadata(), other.metadata());
        assert_eq!(one.num_row_groups(), 1);
        for leaf in 0..one.row_group(0).num_columns() {
            let (chunk, wanted) = (one.row_group(0).column(leaf), other.row_group(0).column(leaf));
            let name = chunk.column_path().string();
            assert_eq!(chunk.statistics(), wanted.statistics(), "{name}");
            assert_eq!(chunk.num_values(), wanted.num_values(), "{name}");
            assert_eq!(
                chunk.definition_level_histogram(),
                wanted.definition_level_histogram(),
                "{name}"
            );
            assert_eq!(
                chunk.repetition_level_histogram(),
                wanted.repetition_level_histogram(),
                "{name}"
            );
            assert_eq!(
                chunk.unencoded_byte_array_data_bytes(),
                wanted.unencoded_byte_array_data_bytes(),
                "{name}"
            );
            let places = |metadata: &ParquetMetaData| {
                let index = &metadata.offset_index().unwrap()[0][leaf];
                let rows = index.page_locations().iter().map(|place| place.first_row_index);
                (
                    rows.collect::<Vec<_>>(),
                    index.unencoded_byte_array_data_bytes().cloned(),
                )
            };
            let index = |metadata: &ParquetMetaData| metadata.column_index().unwrap()[0][leaf].clone();
            let (have, want) = (places(one), places(other));
            let bytes = |texts: &Option<Vec<i64>>| texts.as_ref().map(|texts| texts.iter().sum::<i64>());
            assert_eq!(bytes(&have.1), bytes(&want.1), "{name}");
            // Pages of resources and of lists do not end after a number of rows. So the other file may have them
            // elsewhere.
            if have.0 == want.0 {
                assert_eq!(have.1, want.1, "{name}");
                assert_eq!(chunk.page_encoding_stats(), wanted.page_encoding_stats(), "{name}");
                if !matches!(index(other), ColumnIndexMetaData::NONE) {
                    assert_eq!(index(one), index(other), "{name}");
                }
            } else {
                assert!(name == "resource" || chunk.column_descr().max_rep_level() > 0, "{name}");
            }
            let column = CopiedColumn::read(&file, one, 0, leaf).unwrap();
            let pages = Pages::of(&column).unwrap();
            let data = (0..pages.len()).map(|page| pages.bytes(page));
            let dictionary = Some(pages.dictionary_bytes()).filter(|page| !page.is_empty());
            let sizes = data.chain(dictionary).map(|page| uncompressed_size(&page).unwrap());
            assert_eq!(sizes.sum::<i64>(), chunk.uncompressed_size(), "{name}");
        }
    }

    /// Returns the content of all pages, and the file itself with its indexes.
    fn texts(path: &Path) -> Vec<Bytes> {
        let (file, metadata) = metadata(path);
        let metadata = metadata.metadata();
        let mut texts = vec![Bytes::from(std::fs::read(path).unwrap())];
        for leaf in 0..metadata.row_group(0).num_columns() {
            let column = CopiedColumn::read(&file, metadata, 0, leaf).unwrap();
            let pages = Pages::of(&column).unwrap();
            let mut reading = pages.reading().unwrap();
            let data = (0..pages.len())
                .map(|page| reading.page(page).unwrap())
                .collect::<Vec<_>>();
            texts.extend(data.iter().chain(&reading.dictionary).map(|page| page.buffer().clone()));
        }
        texts
    }

    #[test]
    fn rows_of_persons_leave_no_trace() {
        let of = |person: u64| person * 50..(person + 1) * 50;
        // Person 20 has rows in two pages. Person 31 has the earliest dates. The last two have the highest ids.
        let persons = [of(1), of(20), of(31), of(58), of(59)];
        check(&persons.into_iter().flatten().collect::<Vec<_>>());
        check(&of(31).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_row_of_a_page_may_be_blank() {
        check(&[1_023, 1_024, 1_025, 2_048]);
        check(&(1..ROWS as u64).collect::<Vec<_>>());
        check(&[ROWS as u64 - 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn any_rows_become_blank(drawn in prop::collection::btree_set(1..ROWS as u64, 1..400), runs in prop::collection::vec((1..ROWS as u64, 1u64..300), 0..4)) {
            let mut all = drawn;
            for (from, length) in runs {
                all.extend((from..from + length).filter(|row| *row < ROWS as u64));
            }
            check(&all.into_iter().collect::<Vec<_>>());
        }
    }
}
