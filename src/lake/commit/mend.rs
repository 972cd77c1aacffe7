//! Mends times of the future. A clock that was ahead has stamped snapshots and resources with them.
//!
//! Every resource whose `last_updated` is more than a minute later than the clock gets a new version with the present
//! time. All of them become one snapshot, which has the present time, too. So later snapshots follow the clock again.
//! Older snapshots keep their times. They expire when the new snapshot is old enough.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::TimestampMicrosecondArray;
use arrow::array::{Array, AsArray, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::super::deletes;
use super::super::error::LakeError;
use super::super::file::{CheckedFile, is_blank, restamped, row_bytes, write_file};
use super::super::owners::scope::Mode;
use super::super::seal::Keys;
use super::super::snapshot::DataFile;
use super::super::store::open::AHEAD;
use super::transaction::Transaction;
use super::writer::LakeWriter;
use crate::columns::json::Tape;
use crate::columns::shred::{ShredError, Shredder, SystemValues};
use crate::fhir::storage::SYSTEM_COLUMNS;
use crate::fhir::{TypeId, facts};

/// The approximate number of bytes of rows that are decoded at a time.
const BATCH_BYTES: u64 = 8 << 20;
/// The maximum number of rows of a new file, and the approximate maximum of its bytes of JSON.
const FILE_ROWS: usize = 32_768;
const FILE_BYTES: usize = 16 << 20;

/// The result of mending times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The id of the new snapshot.
    pub snapshot: u64,
    /// The time that the resources and the snapshot have now, in microseconds since 1970.
    pub time: i64,
    /// The latest time before: that of a resource or of the newest snapshot.
    pub latest: i64,
    /// The numbers of resources with a new version, by mode and type.
    pub resources: BTreeMap<(Mode, &'static str), u64>,
}

impl LakeWriter {
    /// Gives each resource whose time is more than a minute later than the clock a new version with the present time,
    /// in one snapshot. Returns `None` and changes nothing if no resource and not the newest snapshot has such a time.
    /// Fails with [`LakeError::Erasing`] if an erasure that has not ended may cover one of these resources.
    pub fn mend_times(&mut self) -> Result<Option<Mended>, LakeError> {
        let mut transaction = self.begin_by_the_clock();
        let (base, time) = (Arc::clone(transaction.base()), transaction.time());
        let limit = limit(time);
        let mut mended = Mended {
            snapshot: base.id,
            time,
            latest: base.time,
            resources: BTreeMap::new(),
        };
        for table in base.tables.values() {
            let of_future = table.files.iter().filter(|file| *file.last_updated.end() > limit);
            for file in of_future {
                if base.erasures.may_reach(table.mode, file.id, &file.owners) {
                    return Err(LakeError::Erasing);
                }
                let rows = mend_file(&mut transaction, (table.mode, table.type_id), file, &mut mended.latest)?;
                if rows > 0 {
                    let key = (table.mode, facts().get(table.type_id).name);
                    *mended.resources.entry(key).or_default() += rows;
                }
            }
        }
        if mended.resources.is_empty() && base.time <= limit {
            return Ok(None);
        }
        mended.snapshot = transaction.commit("tabularium", "times of the future mended")?.id;
        Ok(Some(mended))
    }
}

/// Returns the latest time that is not one of the future, if the clock shows `now`.
fn limit(now: i64) -> i64 {
    now.saturating_add(AHEAD.as_micros() as i64)
}

/// Writes the rows of a file again whose time is one of the future, and deletes them in the file.
/// Returns their number.
fn mend_file(
    transaction: &mut Transaction<'_>,
    table: (Mode, TypeId),
    file: &DataFile,
    latest: &mut i64,
) -> Result<u64, LakeError> {
    let keys = transaction.keys().clone();
    let gone = match &file.deletes {
        Some(deletes) => deletes::read(&deletes.path, &keys)?,
        None => Vec::new(),
    };
    let limit = limit(transaction.time());
    let mut copy = Copy::new(transaction, table);
    let (mut mended, mut first) = (Vec::new(), 0u64);
    for batch in open(file, &keys)? {
        let batch = batch.map_err(LakeError::parquet("read", &file.path))?;
        let rows = Rows::of(&batch)
            .ok_or_else(|| LakeError::Damaged(format!("{} lacks a system column", file.path.display())))?;
        for at in 0..batch.num_rows() {
            let position = first + at as u64;
            let updated = rows.last_updated.value(at);
            if updated > limit && !is_blank(rows.id.value(at)) && gone.binary_search(&position).is_err() {
                *latest = updated.max(*latest);
                copy.add(&rows, at)?;
                mended.push(position);
            }
        }
        first += batch.num_rows() as u64;
    }
    copy.flush()?;
    let count = mended.len() as u64;
    transaction.delete_rows(table.0, table.1, file.id, mended)?;
    Ok(count)
}

fn open(file: &DataFile, keys: &Keys) -> Result<ParquetRecordBatchReader, LakeError> {
    let checked = CheckedFile::open(&file.path, keys)?;
    let metadata = checked.metadata(&file.path, ArrowReaderOptions::new())?;
    let groups = 0..metadata.metadata().num_row_groups();
    let heaviest = groups.map(|group| row_bytes(metadata.metadata(), group)).max();
    let rows = (BATCH_BYTES / heaviest.unwrap_or(1).max(1)).clamp(1, 1_024) as usize;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(checked, metadata);
    // A row is made again from these. All other columns are in `resource`.
    let mask = ProjectionMask::columns(builder.parquet_schema(), SYSTEM_COLUMNS);
    let reader = builder.with_projection(mask).with_batch_size(rows).build();
    reader.map_err(LakeError::parquet("read", &file.path))
}

/// The system columns of a batch. A file lacks those in which it has no value.
struct Rows<'b> {
    owner: &'b Int64Array,
    id: &'b StringArray,
    patient: Option<&'b StringArray>,
    application: &'b StringArray,
    authorization: Option<&'b StringArray>,
    endpoint: Option<&'b StringArray>,
    version: &'b Int64Array,
    last_updated: &'b TimestampMicrosecondArray,
    digest: &'b BinaryArray,
    shared_refs: Option<&'b ListArray>,
    resource: &'b StringArray,
}

impl<'b> Rows<'b> {
    /// Returns the columns. `None` if one is missing that every file has, or if it has another type.
    fn of(batch: &'b RecordBatch) -> Option<Rows<'b>> {
        let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
        Some(Rows {
            owner: batch.column_by_name("owner")?.as_primitive_opt()?,
            id: text("id")?,
            patient: text("patient"),
            application: text("application")?,
            authorization: text("authorization"),
            endpoint: text("endpoint"),
            version: batch.column_by_name("version")?.as_primitive_opt()?,
            last_updated: batch.column_by_name("last_updated")?.as_primitive_opt()?,
            digest: batch.column_by_name("digest")?.as_binary_opt()?,
            shared_refs: batch
                .column_by_name("shared_refs")
                .and_then(|column| column.as_list_opt()),
            resource: text("resource")?,
        })
    }

    fn shared_refs(&self, at: usize) -> Vec<String> {
        let list = self
            .shared_refs
            .filter(|list| list.is_valid(at))
            .map(|list| list.value(at));
        let texts = list.as_ref().and_then(|list| list.as_string_opt::<i32>());
        texts.map_or_else(Vec::new, |texts| texts.iter().flatten().map(str::to_owned).collect())
    }
}

/// The new versions of rows of one file. They become new files.
struct Copy<'t, 'w> {
    transaction: &'t mut Transaction<'w>,
    table: (Mode, TypeId),
    date: String,
    shredder: Shredder,
    tape: Tape,
}

impl<'t, 'w> Copy<'t, 'w> {
    fn new(transaction: &'t mut Transaction<'w>, table: (Mode, TypeId)) -> Copy<'t, 'w> {
        let time = chrono::DateTime::from_timestamp_micros(transaction.time()).unwrap_or_default();
        Copy {
            date: time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            shredder: Shredder::for_layout(transaction.layout(table.0, table.1)),
            tape: Tape::new(),
            transaction,
            table,
        }
    }

    fn add(&mut self, rows: &Rows<'_>, at: usize) -> Result<(), LakeError> {
        let optional = |column: Option<&'_ StringArray>| {
            let column = column.filter(|column| column.is_valid(at));
            column.map(|column| column.value(at).to_owned())
        };
        let (patient, authorization, endpoint) = (
            optional(rows.patient),
            optional(rows.authorization),
            optional(rows.endpoint),
        );
        let name = facts().get(self.table.1).name;
        let unfit = |why: &str| LakeError::Damaged(format!("a row of {name}: {why}"));
        let digest = rows
            .digest
            .value(at)
            .try_into()
            .map_err(|_| unfit("its digest has another length"))?;
        let version = rows.version.value(at).saturating_add(1);
        let stored = rows.resource.value(at);
        // Every row that an import or a sync has written has a version and a date in its text.
        let text = restamped(stored, (version, &self.date), &mut self.tape).unwrap_or_else(|| stored.to_owned());
        let shared_refs = rows.shared_refs(at);
        let values = SystemValues {
            owner: rows.owner.value(at),
            id: rows.id.value(at),
            patient: patient.as_deref(),
            application: rows.application.value(at),
            authorization: authorization.as_deref(),
            endpoint: endpoint.as_deref(),
            version,
            last_updated: self.transaction.time(),
            digest,
            shared_refs: &shared_refs,
            resource: &text,
        };
        loop {
            let root = self
                .tape
                .parse(text.as_bytes())
                .map_err(|error| unfit(&error.to_string()))?;
            match self.shredder.push(&values, root) {
                Ok(()) => break,
                Err(ShredError::Full) => self.flush()?,
                Err(error) => return Err(unfit(&error.to_string())),
            }
        }
        if self.shredder.len() >= FILE_ROWS || self.shredder.bytes() >= FILE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes the gathered rows to a new file.
    fn flush(&mut self) -> Result<(), LakeError> {
        if self.shredder.is_empty() {
            return Ok(());
        }
        let (mode, type_id) = self.table;
        let name = facts().get(type_id).name;
        let next = Shredder::for_layout(self.transaction.layout(mode, type_id));
        let batch = std::mem::replace(&mut self.shredder, next).finish();
        let batch = batch.map_err(|error| LakeError::Damaged(format!("rows of {name}: {error}")))?;
        let schema = self.transaction.adopt(mode, type_id, &batch.schema());
        let schema = schema.map_err(|error| LakeError::Damaged(format!("rows of {name}: {error}")))?;
        let path = self.transaction.new_file_path(mode, type_id)?;
        let written = write_file(&path, type_id, &schema, [&batch], self.transaction.keys())?;
        self.transaction.add_file(mode, type_id, written);
        Ok(())
    }
}
