//! The rows of one owner that are in the lake already.

use std::sync::Arc;

use arrow::array::{Array, AsArray};

use crate::fhir::TypeId;
use crate::fhir::storage::LeafSet;
use crate::ingest::error::IngestError;
use crate::lake::scan::{Locator, Person};
use crate::lake::{Lake, Mode, Picture, Scope};

/// Texts are read in portions of this many rows.
const PORTION: usize = 512;

/// Whose rows are read, and from what.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    pub(super) lake: Lake,
    pub(super) picture: Arc<Picture>,
    pub(super) mode: Mode,
    pub(super) application: String,
}

/// A row, without its text.
#[derive(Clone, Debug)]
pub(super) struct KeptRow {
    pub(super) resource_type: TypeId,
    pub(super) id: String,
    pub(super) patient: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) endpoint: Option<String>,
    locator: Locator,
}

impl Shelf {
    fn scope(&self) -> Arc<Scope> {
        Arc::new(Scope {
            mode: self.mode,
            application: self.application.as_str().into(),
            patient: None,
        })
    }

    /// The owner's rows, in order of types and files.
    pub(super) fn rows(&self, owner: i64) -> Result<Vec<KeptRow>, IngestError> {
        let leaves: LeafSet = ["patient", "authorization", "endpoint"].map(str::to_owned).into();
        let scope = self.scope();
        let mut rows = Vec::new();
        for (mode, resource_type) in self.picture.tables.keys() {
            let is_held = |table: &Arc<crate::lake::TablePicture>| table.files_of_owner(owner).next().is_some();
            if *mode != self.mode || !self.picture.table(*mode, *resource_type).is_some_and(is_held) {
                continue;
            }
            let table = self.lake.table(&self.picture, *resource_type, &scope);
            let batch = table.person_batch(Person::Owner(owner), &leaves)?.batch;
            let text = |name: &str, at: usize| {
                let column = batch.column_by_name(name)?.as_string_opt::<i32>()?;
                (!column.is_null(at)).then(|| column.value(at).to_owned())
            };
            for (at, locator) in Locator::of(&batch).into_iter().enumerate() {
                rows.push(KeptRow {
                    resource_type: *resource_type,
                    id: text("id", at).unwrap_or_default(),
                    patient: text("patient", at),
                    authorization: text("authorization", at),
                    endpoint: text("endpoint", at),
                    locator,
                });
            }
        }
        Ok(rows)
    }

    /// Hands the texts of rows on, in their order. Only a portion of them is in memory at a time. A portion that
    /// cannot be read is left out, so that a damaged file keeps no new records out; gives how many rows that were.
    pub(super) fn texts(&self, rows: &[KeptRow], mut visit: impl FnMut(&KeptRow, &[u8])) -> u64 {
        let mut unreadable = 0;
        let scope = self.scope();
        for of_type in rows.chunk_by(|one, other| one.resource_type == other.resource_type) {
            let table = self.lake.table(&self.picture, of_type[0].resource_type, &scope);
            for portion in of_type.chunks(PORTION) {
                let places: Vec<Locator> = portion.iter().map(|row| row.locator).collect();
                match table.resources(&places) {
                    Ok(read) => {
                        let rows = portion.iter().zip(read);
                        rows.for_each(|(row, read)| visit(row, &read.resource));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "rows cannot be read and are not normalized");
                        unreadable += portion.len() as u64;
                    }
                }
            }
        }
        unreadable
    }
}
