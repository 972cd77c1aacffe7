//! Searches for erased ids in every string of a rewritten file, which is read again from the disk.
//!
//! If all rows of a file are of one application, its pages are searched first (`pages.rs`). Only if they have an id,
//! its columns are searched, because only columns tell how many strings have an id.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, RecordBatch, StringArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Encoding, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use rustc_hash::FxHashMap;

use super::super::evidence::Searched;
use super::identifiers::Identifiers;
use super::pages::{only_value, without_ids};
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, row_bytes};
use crate::lake::seal::Keys;

/// The column with the application of each row.
const APPLICATION: &str = "application";
/// The approximate bytes of decoded rows in memory. A single row may be larger.
const BATCH_BYTES: u64 = 8 << 20;

/// Searches every string of a data file for ids. Each entry of `asked` has an application and the number of a subject.
/// For each entry, in the same order, returns how many strings the application's rows have, and how many of these
/// strings contain an id of the subject.
pub(in crate::lake::erase) fn search_file(
    (path, keys): (&Path, &Keys),
    resource_type: &str,
    identifiers: &Identifiers,
    asked: &[(&str, u32)],
) -> Result<Vec<Searched>, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let file = CheckedFile::open(path, keys)?;
    let options = ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Optional);
    let metadata = file.metadata(path, options)?;
    if let Some(application) = only_value(metadata.metadata(), APPLICATION)
        && let Some(values) = without_ids(&file, metadata.metadata(), resource_type, identifiers).map_err(failed())?
    {
        let of = |asked: &str| Searched {
            values: if asked == application { values } else { 0 },
            found: 0,
        };
        return Ok(asked.iter().map(|(asked, _)| of(asked)).collect());
    }
    search_columns((path, file), metadata, resource_type, identifiers, asked)
}

/// Does the work of [`search_file`] over columns.
fn search_columns(
    (path, file): (&Path, CheckedFile),
    metadata: ArrowReaderMetadata,
    resource_type: &str,
    identifiers: &Identifiers,
    asked: &[(&str, u32)],
) -> Result<Vec<Searched>, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let groups = 0..metadata.metadata().num_row_groups();
    let heaviest = groups.map(|group| row_bytes(metadata.metadata(), group)).max();
    let rows = (BATCH_BYTES / heaviest.unwrap_or(1).max(1)).clamp(1, 1_024) as usize;
    let metadata = with_dictionaries(metadata).map_err(failed())?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata).with_batch_size(rows);
    let leaves = reader.parquet_schema().columns().iter().enumerate();
    let texts = leaves.filter(|(_, leaf)| leaf.physical_type() == Type::BYTE_ARRAY);
    let texts = ProjectionMask::leaves(reader.parquet_schema(), texts.map(|(leaf, _)| leaf));
    let reader = reader.with_projection(texts);
    let mut applications: Vec<&str> = asked.iter().map(|(application, _)| *application).collect();
    applications.sort_unstable();
    applications.dedup();
    let mut searched = vec![Searched::default(); asked.len()];
    let mut search = Search::new(resource_type, identifiers);
    for batch in reader.build().map_err(failed())? {
        let batch = batch.map_err(LakeError::parquet("read", path))?;
        for application in &applications {
            let own = of_application(&batch, application).map_err(LakeError::parquet("read", path))?;
            let (mut values, mut found) = (0, FxHashMap::<u32, u64>::default());
            for (at, (field, column)) in own.schema().fields().iter().zip(own.columns()).enumerate() {
                let mut place = (at, 0);
                search.column(&mut place, field.name() == "id", column, &mut |whose, count| {
                    values += count;
                    whose
                        .iter()
                        .for_each(|whose| *found.entry(*whose).or_default() += count);
                });
            }
            for ((asked, number), searched) in asked.iter().zip(&mut searched) {
                if asked == application {
                    searched.values += values;
                    searched.found += found.get(number).copied().unwrap_or(0);
                }
            }
        }
    }
    Ok(searched)
}

/// Returns the footer with another schema: a text column is an Arrow dictionary if all its pages have dictionary codes.
/// Then a value that many rows have is decoded and searched one time.
fn with_dictionaries(metadata: ArrowReaderMetadata) -> Result<ArrowReaderMetadata, ParquetError> {
    let footer = metadata.metadata();
    let is_coded = |leaf: usize| {
        let mut columns = footer.row_groups().iter().map(|group| group.column(leaf));
        columns.all(|column| {
            let pages = column.page_encoding_stats_mask();
            pages.is_some_and(|pages| pages.is_only(Encoding::RLE_DICTIONARY))
        })
    };
    let mut leaf = 0;
    let fields = metadata.schema().fields().iter().map(|field| {
        // The application of each row is compared as a text.
        let may_be_coded = field.name() != APPLICATION;
        coded(field, &mut leaf, &|leaf| may_be_coded && is_coded(leaf))
    });
    let fields: Vec<Field> = fields.collect();
    let schema = Schema::new(fields).with_metadata(metadata.schema().metadata().clone());
    let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
    ArrowReaderMetadata::try_new(Arc::clone(footer), options)
}

/// Returns a field in which the texts of coded leaves are dictionaries. `leaf` is the index of the field's first leaf,
/// and afterwards of the first leaf after the field.
fn coded(field: &Field, leaf: &mut usize, is_coded: &dyn Fn(usize) -> bool) -> Field {
    let data_type = match field.data_type() {
        DataType::Struct(children) => {
            let children = children.iter().map(|child| coded(child, leaf, is_coded));
            DataType::Struct(children.collect())
        }
        DataType::List(item) => DataType::List(Arc::new(coded(item, leaf, is_coded))),
        other => {
            *leaf += 1;
            match other {
                DataType::Utf8 if is_coded(*leaf - 1) => {
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
                }
                other => other.clone(),
            }
        }
    };
    field.clone().with_data_type(data_type)
}

/// Searches columns for ids.
struct Search<'a> {
    resource_type: &'a str,
    identifiers: &'a Identifiers,
    /// The subjects whose ids are in the current text.
    whose: Vec<u32>,
    /// The last dictionary of each leaf. The key is the index of the column, and the number of the leaf in the column.
    dictionaries: FxHashMap<(usize, usize), Dictionary>,
}

/// A dictionary that was searched.
struct Dictionary {
    values: StringArray,
    /// For each value that contains ids, by its code, the subjects of these ids.
    found: FxHashMap<usize, Vec<u32>>,
}

impl Dictionary {
    /// Whether these values are the same memory. Batches of the same dictionary page share the memory of its values.
    fn is_of(&self, values: &StringArray) -> bool {
        let same_offsets = self.values.value_offsets().as_ptr_range() == values.value_offsets().as_ptr_range();
        same_offsets && self.values.value_data().as_ptr_range() == values.value_data().as_ptr_range()
    }
}

impl<'a> Search<'a> {
    fn new(resource_type: &'a str, identifiers: &'a Identifiers) -> Search<'a> {
        Search {
            resource_type,
            identifiers,
            whose: Vec::new(),
            dictionaries: FxHashMap::default(),
        }
    }

    /// Searches all texts of a column, at any depth. Calls `found` with the subjects whose ids a text contains, and
    /// with the number of its occurrences. `place` is the index of the column and the number of its text leaves so far.
    fn column(
        &mut self,
        place: &mut (usize, usize),
        is_id: bool,
        column: &ArrayRef,
        found: &mut dyn FnMut(&[u32], u64),
    ) {
        match column.data_type() {
            DataType::Struct(_) => {
                for child in column.as_struct().columns() {
                    self.column(place, is_id, child, found);
                }
            }
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
                let items = list.values().slice(first as usize, (last - first) as usize);
                self.column(place, is_id, &items, found);
            }
            DataType::Utf8 => {
                place.1 += 1;
                for text in column.as_string::<i32>().iter().flatten() {
                    found(self.text(is_id, text), 1);
                }
            }
            DataType::Dictionary(_, _) => {
                place.1 += 1;
                self.coded(*place, is_id, column.as_dictionary::<Int32Type>(), found);
            }
            _ => {}
        }
    }

    /// Searches a leaf with dictionary codes. It searches the values only if the leaf's last batch had other ones.
    fn coded(
        &mut self,
        place: (usize, usize),
        is_id: bool,
        column: &DictionaryArray<Int32Type>,
        found: &mut dyn FnMut(&[u32], u64),
    ) {
        let values = column.values().as_string::<i32>();
        if !self.dictionaries.get(&place).is_some_and(|known| known.is_of(values)) {
            let mut known = FxHashMap::default();
            for (at, text) in values.iter().enumerate() {
                let whose = self.text(is_id, text.unwrap_or_default());
                if !whose.is_empty() {
                    known.insert(at, whose.to_vec());
                }
            }
            let values = values.clone();
            self.dictionaries.insert(place, Dictionary { values, found: known });
        }
        let known = &self.dictionaries[&place].found;
        if known.is_empty() {
            return found(&[], (column.len() - column.null_count()) as u64);
        }
        for key in column.keys().iter().flatten() {
            found(known.get(&(key as usize)).map_or(&[], Vec::as_slice), 1);
        }
    }

    /// Returns the subjects whose ids a text contains, each once.
    fn text(&mut self, is_id: bool, text: &str) -> &[u32] {
        let whose = &mut self.whose;
        whose.clear();
        self.identifiers.in_text(text, |one| whose.push(one));
        if is_id {
            whose.extend(self.identifiers.whose(self.resource_type, text));
        }
        whose.sort_unstable();
        whose.dedup();
        whose
    }
}

/// Returns the rows of a batch that belong to an application. Ids in rows of other applications do not count, because
/// another application may have the same ids. If the batch has no `application` column, returns all rows.
fn of_application(batch: &RecordBatch, application: &str) -> Result<RecordBatch, arrow::error::ArrowError> {
    let column = batch.column_by_name(APPLICATION);
    let Some(column) = column.and_then(|column| column.as_string_opt::<i32>()) else {
        return Ok(batch.clone());
    };
    let own: BooleanArray = column.iter().map(|value| Some(value == Some(application))).collect();
    if own.true_count() == batch.num_rows() {
        Ok(batch.clone())
    } else {
        filter_record_batch(batch, &own)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::columns::json::Tape;
    use crate::columns::layout::Layout;
    use crate::columns::shred::{Shredder, SystemValues};
    use crate::fhir::facts;
    use crate::lake::file::write_file;

    /// Writes a file of Observations. Each has an application, components, and notes, of which some are missing.
    fn write(path: &Path, rows: &[(&str, Vec<Option<String>>)]) {
        let type_id = facts().lookup("Observation").unwrap();
        let (mut shredder, mut tape) = (Shredder::new(type_id), Tape::new());
        for (at, (application, notes)) in rows.iter().enumerate() {
            let id = format!("row-{at:06}");
            let notes = notes.iter().map(|note| {
                note.as_ref()
                    .map_or(json!({"time": "2024"}), |note| json!({"text": note}))
            });
            let notes: Vec<_> = notes.collect();
            let mut resource = json!({"resourceType": "Observation", "id": id, "status": "final"});
            if !notes.is_empty() {
                resource["component"] = json!([{"valueString": "a"}, {"valueInteger": 1}]);
                resource["note"] = json!(notes);
            }
            let text = resource.to_string();
            let system = SystemValues {
                owner: at as i64,
                patient: Some("p"),
                application,
                ..SystemValues::outside(&id, &text)
            };
            shredder.push(&system, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        let batch = shredder.finish().unwrap();
        let schema = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().schema;
        write_file(path, type_id, &schema, [&batch], &Keys::none()).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn pages_and_columns_have_the_same_texts(
            rows in prop::collection::vec(
                (prop::sample::select(vec!["one", "two"]), prop::collection::vec(prop::option::of("[ -~]{0,40}"), 0..4)),
                1..60,
            ),
            is_mixed in any::<bool>(),
            is_there in any::<bool>(),
            id in prop_oneof![Just("4f6c1c9e-0000-4000-8000-0123456789ab"), Just("ann")],
        ) {
            let mut rows = rows;
            if !is_mixed {
                rows.iter_mut().for_each(|row| row.0 = "one");
            }
            if is_there {
                rows[0].1.push(Some(format!("see Patient/{id}, please")));
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.parquet");
            write(&path, &rows);
            let mut identifiers = Identifiers::default();
            identifiers.add(0, "Patient", id);
            let asked = [("one", 0), ("two", 0)];
            let searched = search_file((&path, &Keys::none()), "Observation", &identifiers, &asked).unwrap();
            let file = CheckedFile::open(&path, &Keys::none()).unwrap();
            let options = || ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Optional);
            let metadata = file.metadata(&path, options()).unwrap();
            let pages = without_ids(&file, metadata.metadata(), "Observation", &identifiers).unwrap();
            let columns = search_columns((&path, file), metadata, "Observation", &identifiers, &asked).unwrap();
            prop_assert_eq!(&searched, &columns);
            prop_assert_eq!(pages.is_some(), !is_there);
            prop_assert!(pages.is_none_or(|pages| pages == columns.iter().map(|one| one.values).sum::<u64>()));
            let found: u64 = searched.iter().map(|one| one.found).sum();
            // The note has the id, and so has the text of the resource.
            prop_assert_eq!(found, if is_there { 2 } else { 0 });
        }
    }
}
