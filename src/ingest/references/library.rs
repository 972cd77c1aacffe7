//! The lake's files that an import may read: the files of its base snapshot, and the files that the import has written
//! itself.

use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::contexts::{Contexts, Filed, Wanted};
use super::super::error::IngestError;
use super::condition::{Key, Keys, Token};
use super::known::{Opened, Rows};
use crate::fhir::TypeId;
use crate::lake::{DataFile, Mode, Snapshot, deletes};

/// The data files of the base snapshot and of this import.
#[derive(Clone, Debug)]
pub(in crate::ingest) struct Library {
    base: Arc<Snapshot>,
    /// The keys that decrypt sealed files.
    sealing: crate::lake::Keys,
    mode: Mode,
    application: String,
    /// Whether conditions also match the lake's rows. It is `false` if ids are rewritten, because the lake's rows then
    /// have other ids than the references of the input.
    consults: bool,
    /// The files that this import has written.
    pub(in crate::ingest) pending: FxHashMap<TypeId, Vec<PathBuf>>,
}

/// Receives the id of a row and the keys of its identifiers.
pub(in crate::ingest) type Visit<'v> = dyn FnMut(&str, &[Key]) + 'v;

impl Library {
    pub(in crate::ingest) fn new(
        base: Arc<Snapshot>,
        sealing: crate::lake::Keys,
        mode: Mode,
        application: &str,
    ) -> Self {
        Self {
            base,
            sealing,
            mode,
            application: application.to_owned(),
            consults: true,
            pending: FxHashMap::default(),
        }
    }

    /// Returns a copy in which conditions match only resources of the input.
    pub(in crate::ingest) fn unconsulted(&self) -> Self {
        Self {
            consults: false,
            ..self.clone()
        }
    }

    /// Calls `visit` for the identifiers of the application's rows of this type in the base snapshot. Does nothing if
    /// conditions match only resources of the input.
    pub(in crate::ingest) fn stored_identifiers(
        &self,
        type_id: TypeId,
        keys: Keys,
        visit: &mut Visit<'_>,
    ) -> Result<(), IngestError> {
        let Some(table) = self.base.table(self.mode, type_id).filter(|_| self.consults) else {
            return Ok(());
        };
        for file in &table.files {
            let deleted = deleted_rows(file, &self.sealing)?;
            self.visit(
                &Opened::open(&file.path, &self.sealing)?,
                type_id,
                keys,
                &deleted,
                visit,
            )?;
        }
        Ok(())
    }

    /// Calls `visit` for the identifiers of the rows of this type that this import has written.
    pub(in crate::ingest) fn pending_identifiers(
        &self,
        type_id: TypeId,
        keys: Keys,
        visit: &mut Visit<'_>,
    ) -> Result<(), IngestError> {
        for path in self.pending.get(&type_id).into_iter().flatten() {
            self.visit(
                &Opened::open(path, &self.sealing)?,
                type_id,
                keys,
                &Rows::default(),
                visit,
            )?;
        }
        Ok(())
    }

    /// Adds the filings of the application's wanted rows to `contexts`: first those of the base snapshot, then those of
    /// this import, which replace them.
    pub(in crate::ingest) fn filed(&self, wanted: &Wanted, contexts: &mut Contexts) -> Result<(), IngestError> {
        for (type_id, ids) in wanted {
            let table = self.base.table(self.mode, *type_id);
            for file in table.into_iter().flat_map(|table| &table.files) {
                let deleted = deleted_rows(file, &self.sealing)?;
                self.filed_in(
                    &Opened::open(&file.path, &self.sealing)?,
                    *type_id,
                    ids,
                    &deleted,
                    contexts,
                )?;
            }
            for path in self.pending.get(type_id).into_iter().flatten() {
                self.filed_in(
                    &Opened::open(path, &self.sealing)?,
                    *type_id,
                    ids,
                    &Rows::default(),
                    contexts,
                )?;
            }
        }
        Ok(())
    }

    fn filed_in(
        &self,
        file: &Opened<'_>,
        type_id: TypeId,
        ids: &FxHashSet<String>,
        deleted: &Rows,
        contexts: &mut Contexts,
    ) -> Result<(), IngestError> {
        file.filed(&self.application, ids, |row, id, owner, patient| {
            if !deleted.contains(row) {
                let patient = patient.map(str::to_owned);
                contexts.add(type_id, id, Filed { owner, patient });
            }
        })
    }

    fn visit(
        &self,
        file: &Opened<'_>,
        type_id: TypeId,
        keys: Keys,
        deleted: &Rows,
        visit: &mut Visit<'_>,
    ) -> Result<(), IngestError> {
        file.identifiers(&self.application, |row, id, system, value| {
            if !value.is_empty() && !deleted.contains(row) {
                let own = match system {
                    Some(system) => Token::Exact(system, value),
                    None => Token::NoSystem(value),
                };
                visit(
                    id,
                    &[keys.key(type_id, Token::AnySystem(value)), keys.key(type_id, own)],
                );
            }
        })
    }
}

/// Returns the positions of a data file's deleted rows, as its delete file lists them.
pub(in crate::ingest) fn deleted_rows(file: &DataFile, sealing: &crate::lake::Keys) -> Result<Rows, IngestError> {
    Ok(match &file.deletes {
        Some(deletes) => deletes::read(&deletes.path, sealing)?.into_iter().collect(),
        None => Rows::default(),
    })
}
