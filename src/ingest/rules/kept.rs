//! Reads existing rows of the lake for the rules: those of one owner, and those without a person.

use std::sync::Arc;

use arrow::array::{Array, AsArray};

use super::asked::is_asked;
use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Keys;
use crate::lake::owners::owner::{APPLICATION_ONLY, SHARED};
use crate::lake::scan::{Locator, MemoryLimits, Person, Reader, Row, ScanError, ScopedTable, Sought};
use crate::lake::{Lake, Mode, Scope, Snapshot};

/// The number of rows whose texts are read at once.
const PORTION: usize = 512;
/// The memory limits of an import's own reader, which all owners share.
const READER: MemoryLimits = MemoryLimits {
    bytes: 64 << 20,
    handles: 128,
    people: false,
};

/// Reads the rows of one application and mode in a snapshot.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Shelf {
    reader: Arc<Reader>,
    snapshot: Arc<Snapshot>,
    pub(super) mode: Mode,
    pub(super) application: String,
}

/// The rows of an owner, without their texts.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) rows: Vec<KeptRow>,
    /// The different filings (patient and source) of the rows, each once. `KeptRow::filed` is an index into this list.
    filed: Vec<Filed>,
    /// References of the rows to records that rules look up, as `Type/id`.
    pub(super) shared_refs: Vec<String>,
}

/// A row, without its text.
#[derive(Clone, Debug)]
pub(super) struct KeptRow {
    pub(super) resource_type: TypeId,
    /// A hash of the row's type and id.
    pub(super) name: u64,
    filed: u32,
    locator: Locator,
}

/// The patient and the source of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filed {
    pub(super) patient: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) endpoint: Option<String>,
}

impl Kept {
    /// Returns the different filings of the rows, each once.
    pub(super) fn filed(&self) -> &[Filed] {
        &self.filed
    }

    /// Returns the filing of a row.
    pub(super) fn filed_by(&self, row: &KeptRow) -> &Filed {
        &self.filed[row.filed as usize]
    }

    fn place(&mut self, filed: Filed) -> u32 {
        let known = self.filed.iter().rposition(|known| *known == filed);
        let place = known.unwrap_or_else(|| {
            self.filed.push(filed);
            self.filed.len() - 1
        });
        place as u32
    }
}

impl Shelf {
    /// Creates a reader of an application's rows in a snapshot. If `is_import` is true, the reader has caches of its
    /// own. Otherwise it uses the caches of the lake, as other readers do.
    pub(in crate::ingest) fn new(
        lake: &Lake,
        snapshot: Arc<Snapshot>,
        mode: Mode,
        application: &str,
        is_import: bool,
    ) -> Shelf {
        Shelf {
            reader: if is_import {
                lake.reader_apart(READER)
            } else {
                lake.reader()
            },
            snapshot,
            mode,
            application: application.to_owned(),
        }
    }

    fn table(&self, type_id: TypeId) -> ScopedTable {
        let scope = Arc::new(Scope {
            mode: self.mode,
            application: self.application.as_str().into(),
            patient: None,
        });
        self.reader.table(&self.snapshot, type_id, &scope)
    }

    /// Whether the owner has rows.
    pub(in crate::ingest) fn has_rows(&self, owner: i64) -> Result<bool, IngestError> {
        Ok(!self.rows(owner, Keys::new())?.rows.is_empty())
    }

    /// Returns the owner's rows, in order of types and files.
    pub(super) fn rows(&self, owner: i64, keys: Keys) -> Result<Kept, IngestError> {
        let leaves: LeafSet = ["patient", "authorization", "endpoint", "shared_refs"]
            .map(str::to_owned)
            .into();
        let mut kept = Kept::default();
        for (mode, resource_type) in self.snapshot.tables.keys() {
            let is_held = |table: &Arc<crate::lake::TableSnapshot>| table.files_of_owner(owner).next().is_some();
            if *mode != self.mode || !self.snapshot.table(*mode, *resource_type).is_some_and(is_held) {
                continue;
            }
            let batch = self
                .table(*resource_type)
                .person_batch(Person::Owner(owner), &leaves)?
                .batch;
            let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
            let columns = ["patient", "authorization", "endpoint"].map(texts);
            let text = |column: usize, at: usize| {
                let column = columns[column].filter(|column| !column.is_null(at))?;
                Some(column.value(at).to_owned())
            };
            let ids = texts("id");
            for (at, locator) in Locator::of(&batch).into_iter().enumerate() {
                let filed = kept.place(Filed {
                    patient: text(0, at),
                    authorization: text(1, at),
                    endpoint: text(2, at),
                });
                kept.rows.push(KeptRow {
                    resource_type: *resource_type,
                    name: keys.name(*resource_type, ids.map_or("", |ids| ids.value(at))),
                    filed,
                    locator,
                });
            }
            let refs = batch.column_by_name("shared_refs");
            let refs = refs.and_then(|column| column.as_list_opt::<i32>());
            if let Some(refs) = refs.and_then(|list| list.values().as_string_opt::<i32>()) {
                let refs = refs.iter().flatten().filter(|name| is_asked(name));
                kept.shared_refs.extend(refs.map(str::to_owned));
                kept.shared_refs.sort_unstable();
                kept.shared_refs.dedup();
            }
        }
        Ok(kept)
    }

    /// Reads the texts of rows, and calls `visit` for each row in order. Only a portion of the texts is in memory at a
    /// time. If a portion cannot be read, its rows are left out, so that a damaged file does not block new records.
    /// Returns the number of rows that were left out.
    pub(super) fn texts(&self, rows: &[KeptRow], mut visit: impl FnMut(&KeptRow, &Row)) -> u64 {
        let mut unreadable = 0;
        for of_type in rows.chunk_by(|one, other| one.resource_type == other.resource_type) {
            let table = self.table(of_type[0].resource_type);
            for portion in of_type.chunks(PORTION) {
                let places: Vec<Locator> = portion.iter().map(|row| row.locator).collect();
                match table.resources(&places) {
                    Ok(read) => portion.iter().zip(&read).for_each(|(row, read)| visit(row, read)),
                    Err(error) => {
                        tracing::warn!(%error, "rows cannot be read and are not normalized");
                        unreadable += portion.len() as u64;
                    }
                }
            }
        }
        unreadable
    }

    /// Reads the texts of rows without a person. Calls `found` with each id and the row's text, or `None` if there is
    /// no such row. If a portion cannot be read, its ids are left out. Returns the number of ids that were left out.
    pub(super) fn of_nobody(&self, type_id: TypeId, ids: &[&str], mut found: impl FnMut(&str, Option<String>)) -> u64 {
        let mut unreadable = 0;
        let table = self.table(type_id);
        for portion in ids.chunks(PORTION) {
            match of_nobody(&table, portion) {
                Ok(rows) => portion.iter().zip(rows).for_each(|(id, text)| found(id, text)),
                Err(error) => {
                    tracing::warn!(%error, "records of nobody cannot be read and are not shown to rules");
                    unreadable += portion.len() as u64;
                }
            }
        }
        unreadable
    }
}

fn of_nobody(table: &ScopedTable, ids: &[&str]) -> Result<Vec<Option<String>>, ScanError> {
    if !table.has_files() {
        return Ok(vec![None; ids.len()]);
    }
    let sought = ids.iter().map(|id| Sought {
        id: (*id).to_owned(),
        owner: Some(SHARED),
    });
    let sought: Vec<Sought> = sought.collect();
    let rows = table.read_all(&sought, usize::MAX)?.unwrap_or_default();
    let places: Vec<Locator> = rows.iter().flatten().map(|(place, _)| *place).collect();
    let mut owners = table.owners(&places)?.into_iter();
    let mut text = |(_, row): (Locator, Row)| {
        let owner = owners.next()?;
        let text = String::from_utf8(row.resource.into()).ok()?;
        (owner <= APPLICATION_ONLY).then_some(text)
    };
    Ok(rows.into_iter().map(|row| text(row?)).collect())
}
