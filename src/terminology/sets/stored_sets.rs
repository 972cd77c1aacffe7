//! The value sets beside the lake: one Parquet file with `url`, `version` and `resource`. Each value set is parsed when
//! it is requested.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use rustc_hash::FxHashSet;

use super::super::system::table::properties;
use super::super::system::texts::Texts;
use super::raw;

/// The value sets of one file. An empty text in `versions` stands for a missing version.
#[derive(Debug)]
pub(in crate::terminology) struct StoredSets {
    file: String,
    urls: Texts,
    versions: Texts,
    resources: Texts,
}

impl StoredSets {
    pub(in crate::terminology) fn read(content: Bytes, file: &str) -> Result<StoredSets, ParquetError> {
        let mut sets = StoredSets {
            file: file.to_string(),
            urls: Texts::default(),
            versions: Texts::default(),
            resources: Texts::default(),
        };
        for batch in ParquetRecordBatchReaderBuilder::try_new(content)?.build()? {
            sets.take(&batch?)
                .ok_or_else(|| ParquetError::General("its columns are not those of value sets".into()))?;
        }
        for texts in [&mut sets.urls, &mut sets.versions, &mut sets.resources] {
            texts.shrink();
        }
        Ok(sets)
    }

    fn take(&mut self, batch: &RecordBatch) -> Option<()> {
        let columns = [
            ("url", &mut self.urls),
            ("version", &mut self.versions),
            ("resource", &mut self.resources),
        ];
        for (name, texts) in columns {
            for text in batch.column_by_name(name)?.as_string_opt::<i32>()? {
                texts.push(text.unwrap_or_default())?;
            }
        }
        Some(())
    }

    pub(in crate::terminology) fn file(&self) -> &str {
        &self.file
    }

    pub(in crate::terminology) fn len(&self) -> u32 {
        self.urls.len() as u32
    }

    pub(in crate::terminology) fn url(&self, number: u32) -> &str {
        self.urls.get(number)
    }

    pub(in crate::terminology) fn version(&self, number: u32) -> Option<&str> {
        Some(self.versions.get(number)).filter(|version| !version.is_empty())
    }

    pub(in crate::terminology) fn get(&self, number: u32) -> Option<Arc<raw::ValueSet>> {
        serde_json::from_str(self.resources.get(number)).ok().map(Arc::new)
    }
}

/// Returns the content of a file, and the number of its value sets. The file has `sets`, and those value sets of
/// `before` whose URLs do not occur in `sets`.
pub(in crate::terminology) fn write(
    before: Option<&StoredSets>,
    sets: &[raw::ValueSet],
) -> Result<(Vec<u8>, u64), ParquetError> {
    let replaced: FxHashSet<&str> = sets.iter().map(|set| set.url.as_str()).collect();
    let mut rows: Vec<(String, Option<String>, String)> = Vec::new();
    for (before, number) in before
        .into_iter()
        .flat_map(|before| (0..before.len()).map(move |number| (before, number)))
    {
        if !replaced.contains(before.url(number)) {
            let version = before.version(number).map(str::to_string);
            rows.push((
                before.url(number).to_string(),
                version,
                before.resources.get(number).to_string(),
            ));
        }
    }
    for set in sets {
        let json = serde_json::to_string(set).map_err(|error| ParquetError::External(error.into()))?;
        rows.push((set.url.clone(), set.version.clone(), json));
    }
    rows.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    // If two value sets in `sets` have the same URL and version, keep the later one. The sort does not change their
    // order. `dedup_by` keeps the first of equal rows, so the rows are reversed for it.
    rows.reverse();
    rows.dedup_by(|one, other| one.0 == other.0 && one.1 == other.1);
    rows.reverse();
    let schema = Arc::new(Schema::new(vec![
        Field::new("url", DataType::Utf8, false),
        Field::new("version", DataType::Utf8, true),
        Field::new("resource", DataType::Utf8, false),
    ]));
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), Some(properties(Vec::new())?))?;
    for rows in rows.chunks(1024) {
        let urls = StringArray::from_iter_values(rows.iter().map(|row| &row.0));
        let versions: StringArray = rows.iter().map(|row| row.1.as_deref()).collect();
        let resources = StringArray::from_iter_values(rows.iter().map(|row| &row.2));
        let columns = vec![Arc::new(urls) as _, Arc::new(versions) as _, Arc::new(resources) as _];
        writer.write(&RecordBatch::try_new(schema.clone(), columns)?)?;
    }
    writer.close()?;
    Ok((file, rows.len() as u64))
}
