//! Repeats the erasures that came after a copy of the lake was made. The ledger of erasures holds only hashes, so it
//! does not tell which rows to erase. This file therefore hashes the owner and ids of each row of the copy and looks
//! for the hash in the ledger.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::erased::Erased;
use super::intent::Intent;
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::erase::ledger::{ErasedSince, Whose};
use crate::lake::error::LakeError;
use crate::lake::file::CheckedFile;
use crate::lake::owners::scope::{Mode, PatientScope};

/// The maximum number of intents that are erased together, in one call of `erase_all`.
const AT_ONCE: usize = 1_000;

/// The ids of Patients and authorizations of one owner. The owner's rows that belong to one of these ids are to be
/// erased.
#[derive(Debug, Default)]
struct OwnerIds {
    patients: BTreeSet<String>,
    authorizations: BTreeSet<String>,
}

/// The ids whose rows are to be erased. The key is mode, application and owner.
type Meant = BTreeMap<(Mode, String, i64), OwnerIds>;

impl LakeWriter {
    /// Erases rows from this copy of a lake if they were erased from the original after the copy was made. Returns a
    /// result for each mode, application and owner with such rows. The writer must be one that repeats erasures
    /// ([`Lake::writer_that_repeats`](crate::lake::Lake::writer_that_repeats)), because these erasures come from the
    /// ledger.
    pub fn erase_again(&mut self, since: &ErasedSince) -> Result<Vec<Erased>, LakeError> {
        if since.is_empty() {
            return Ok(Vec::new());
        }
        let mut meant = Meant::new();
        let snapshot = self.lake().snapshot();
        for table in snapshot.tables.values() {
            let folder = self
                .lake()
                .folder()
                .table(table.mode, crate::fhir::facts().get(table.type_id).name);
            for file in catalog::reached(&self.connection, table.table_id, |_, _| true)? {
                let path = folder.join(&file.name);
                let rows = CheckedFile::open(&path, self.lake().folder().keys())?.rows(&path)?;
                look(rows, table.mode, since, &mut meant).map_err(LakeError::parquet("read", &path))?;
            }
        }
        for one in catalog::all_attachments(&self.connection)? {
            let authorization = one.contents(self.lake().folder().keys())?.authorization;
            let whose = Whose::Authorization(&authorization);
            if since.has(one.mode, &one.application, one.owner, whose) {
                let means = meant.entry((one.mode, one.application, one.owner));
                means.or_default().authorizations.insert(authorization);
            }
        }
        let intents: Vec<Intent> = meant.into_iter().map(intent).collect();
        let mut done = Vec::with_capacity(intents.len());
        for some in intents.chunks(AT_ONCE) {
            done.extend(self.erase_all(some)?);
        }
        Ok(done)
    }
}

fn intent(((mode, application, owner), means): ((Mode, String, i64), OwnerIds)) -> Intent {
    Intent {
        mode,
        application,
        patient: PatientScope {
            patients: means.patients.into_iter().collect(),
            owners: vec![owner],
            authorizations: means.authorizations.into_iter().collect(),
        },
    }
}

/// Looks for the rows of a file in the ledger. If a row is in the ledger, adds the id of its Patient or authorization
/// to `meant`.
fn look(
    builder: ParquetRecordBatchReaderBuilder<CheckedFile>,
    mode: Mode,
    since: &ErasedSince,
    meant: &mut Meant,
) -> Result<(), parquet::errors::ParquetError> {
    let columns = ["owner", "patient", "application", "authorization"];
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
    for batch in builder.with_projection(mask).build()? {
        look_at_rows(&batch?, mode, since, meant)?;
    }
    Ok(())
}

fn look_at_rows(
    batch: &RecordBatch,
    mode: Mode,
    since: &ErasedSince,
    meant: &mut Meant,
) -> Result<(), parquet::errors::ParquetError> {
    let missing = || parquet::errors::ParquetError::General("a system column is missing".to_owned());
    let text = |name: &str| {
        batch
            .column_by_name(name)
            .map(|column| column.as_string_opt::<i32>().ok_or_else(missing))
    };
    let owners = batch
        .column_by_name("owner")
        .and_then(|owners| owners.as_primitive_opt::<Int64Type>());
    let owners = owners.ok_or_else(missing)?;
    let applications = text("application").ok_or_else(missing)??;
    // A file lacks a column if no row has a value in it. So it is no error if one of these two columns is missing.
    let (patients, authorizations) = (text("patient").transpose()?, text("authorization").transpose()?);
    let value = |column: Option<&'_ arrow::array::StringArray>, row: usize| {
        column
            .filter(|column| column.is_valid(row))
            .map(|column| column.value(row).to_owned())
    };
    let mut last = None;
    for row in 0..batch.num_rows() {
        let (patient, authorization) = (value(patients, row), value(authorizations, row));
        let now = (owners.value(row), applications.value(row), patient, authorization);
        // Rows are sorted by owner, so the next row usually has the same ids. Then skip it, because its hash was
        // already looked up.
        if last.as_ref() == Some(&now) {
            continue;
        }
        let (owner, application) = (now.0, now.1);
        let whose = match (&now.2, &now.3) {
            (_, Some(authorization)) => Some(Whose::Authorization(authorization)),
            (Some(patient), None) => Some(Whose::Patient(patient)),
            (None, None) => None,
        };
        if let Some(whose) = whose.filter(|whose| since.has(mode, application, owner, *whose)) {
            let means = meant.entry((mode, application.to_owned(), owner)).or_default();
            match whose {
                Whose::Patient(id) => means.patients.insert(id.to_owned()),
                Whose::Authorization(id) => means.authorizations.insert(id.to_owned()),
            };
        }
        last = Some(now);
    }
    Ok(())
}
