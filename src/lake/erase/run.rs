//! Carrying an erasure out: recorded, every file rewritten that any snapshot reaches, old and new exchanged, old ones removed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::intent::Erasure;
use super::rewrite::rewrite;
use crate::fhir::{TypeId, facts};
use crate::lake::catalog::{self, Exchange, NewPeriod, StoredFile};
use crate::lake::deletes;
use crate::lake::error::LakeError;
use crate::lake::picture::TablePicture;
use crate::lake::scan::own_rows;
use crate::lake::scope::{Mode, PatientScope};
use crate::lake::transaction::{file_name, sync_files};
use crate::lake::writer::{LakeWriter, remove, sync_folder};

/// What an erasure took out of the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Resources that the newest snapshot had, by type.
    pub resources: BTreeMap<TypeId, u64>,
    /// Rows of all snapshots: earlier versions and deleted resources, too.
    pub rows: u64,
    /// Files that were written anew without them.
    pub files_rewritten: u64,
    /// Files that held nothing else.
    pub files_removed: u64,
}

/// The files that one erasure exchanges.
#[derive(Default)]
struct Work<'p> {
    exchanges: Vec<Exchange<'p>>,
    new: Vec<PathBuf>,
    old: Vec<PathBuf>,
    done: Erased,
}

impl LakeWriter {
    /// Erases the rows that a patient's scope has as its own, from the newest snapshot and from all others that can be read.
    /// Rows that are nobody's stay, and so does what is committed later, be it the same again.
    ///
    /// No scope shows them once this has begun; what an error or a crash leaves undone, the next writer does.
    pub fn erase(&mut self, mode: Mode, application: &str, patient: &PatientScope) -> Result<Erased, LakeError> {
        self.record_erasure(mode, application, patient)?;
        self.finish_erasures()
    }

    /// The first half of [`erase`](LakeWriter::erase): hides the rows from everybody, durably.
    pub fn record_erasure(&mut self, mode: Mode, application: &str, patient: &PatientScope) -> Result<(), LakeError> {
        catalog::record(&mut self.connection, mode, application, patient)?;
        let base = self.lake().picture();
        self.publish(&base)?;
        Ok(())
    }

    /// Finishes the erasures that were recorded.
    pub(in crate::lake) fn finish_erasures(&mut self) -> Result<Erased, LakeError> {
        let mut done = Erased::default();
        loop {
            let Some(erasure) = self.lake().picture().erasures.pending.first().cloned() else {
                return Ok(done);
            };
            let one = self.finish(&erasure)?;
            for (ty, count) in one.resources {
                *done.resources.entry(ty).or_default() += count;
            }
            done.rows += one.rows;
            done.files_rewritten += one.files_rewritten;
            done.files_removed += one.files_removed;
        }
    }

    fn finish(&mut self, erasure: &Erasure) -> Result<Erased, LakeError> {
        let picture = self.lake().picture();
        let mut work = Work::default();
        let mode = erasure.scope.mode;
        for table in picture.tables.values().filter(|table| table.mode == mode) {
            for file in catalog::reached(&self.connection, table.table_id, erasure)? {
                self.prepare_exchange(erasure, table, &file, &mut work)?;
            }
        }
        sync_files(&work.new)?;
        catalog::exchange(&mut self.connection, erasure, &work.exchanges)?;
        let Work { old, done, .. } = work;
        self.publish(&picture)?;
        let folders: BTreeSet<_> = old.iter().filter_map(|path| path.parent()).collect();
        for path in &old {
            remove(path)?;
        }
        for folder in folders {
            sync_folder(folder)?;
        }
        if !catalog::empty_log(&self.connection)? {
            // The log goes when this writer does, or the next.
            tracing::warn!("the catalog's log could not be emptied after an erasure: somebody reads it");
        }
        Ok(done)
    }

    /// Writes the file that takes a file's place, and its delete files.
    fn prepare_exchange<'p>(
        &self,
        erasure: &Erasure,
        table: &'p Arc<TablePicture>,
        file: &StoredFile,
        work: &mut Work<'p>,
    ) -> Result<(), LakeError> {
        let folder = self.lake().folder().table(table.mode, facts().get(table.ty).name);
        let old = folder.join(&file.name);
        let erased = own_rows(file.id, &old, &erasure.scope)
            .map_err(|error| LakeError::Damaged(format!("erasing from {}: {error}", old.display())))?;
        if erased.is_empty() {
            return Ok(());
        }
        let mut deletes = Vec::with_capacity(file.deletes.len());
        for stored in &file.deletes {
            let path = folder.join(&stored.name);
            deletes.push((stored.begin, stored.end, deletes::read(&path)?));
            work.old.push(path);
        }
        work.old.push(old.clone());
        work.done.rows += erased.len() as u64;
        if file.end.is_none() {
            let gone = deletes.last().filter(|(_, end, _)| end.is_none());
            let deleted = |row: &&u64| gone.is_some_and(|(_, _, gone)| gone.binary_search(row).is_ok());
            let live = erased.len() - erased.iter().filter(deleted).count();
            *work.done.resources.entry(table.ty).or_default() += live as u64;
        }
        let mut exchange = Exchange {
            table: table.table_id,
            layout: &table.layout,
            id: file.id,
            written: None,
            end: file.end,
            deletes: Vec::new(),
        };
        let periods = match erased.len() as u64 == file.rows {
            true => Vec::new(),
            false => periods(
                file,
                &erased,
                deletes,
                catalog::oldest_snapshot(&self.connection)?,
                &mut exchange.end,
            ),
        };
        if periods.is_empty() {
            work.done.files_removed += 1;
        } else {
            let new = folder.join(format!("{}.parquet", random_name()));
            work.new.push(new.clone());
            let written = rewrite(&old, &new, table.ty, file.rows, &erased)?;
            let data = self.lake().folder().data();
            let named = new.strip_prefix(&data).unwrap_or(&new).to_string_lossy().into_owned();
            for (begin, end, positions) in periods {
                let path = folder.join(format!("{}-delete.parquet", random_name()));
                work.new.push(path.clone());
                let written = deletes::write(&path, &named, &positions)?;
                exchange.deletes.push(NewPeriod {
                    begin,
                    end,
                    name: file_name(&path),
                    count: positions.len() as u64,
                    bytes: written.bytes,
                    footer_size: written.footer_size,
                });
            }
            exchange.written = Some((file_name(&new), written));
            work.done.files_rewritten += 1;
        }
        work.exchanges.push(exchange);
        Ok(())
    }
}

/// A delete file to write: the snapshots it is for, and positions.
type Period = (u64, Option<u64>, Vec<u64>);

/// Which rows of a file are deleted in which snapshots once those at `erased` are in all of them. The file ends where nothing is
/// left of it; no period is left where that is from its beginning. Snapshots before `oldest` cannot be read.
fn periods(file: &StoredFile, erased: &[u64], deletes: Vec<Period>, oldest: u64, end: &mut Option<u64>) -> Vec<Period> {
    let mut periods = Vec::with_capacity(deletes.len() + 1);
    let first_delete = deletes.first().map_or(file.end, |(begin, _, _)| Some(*begin));
    if first_delete.is_none_or(|first| first > file.begin && first > oldest) {
        periods.push((file.begin, first_delete, erased.to_vec()));
    }
    for (begin, until, positions) in deletes {
        let all: BTreeSet<u64> = positions.into_iter().chain(erased.iter().copied()).collect();
        if all.len() as u64 == file.rows {
            *end = Some(begin);
            break;
        }
        periods.push((begin, until, all.into_iter().collect()));
    }
    periods
}

fn random_name() -> String {
    let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: u64, begin: u64, end: Option<u64>) -> StoredFile {
        StoredFile {
            id: 1,
            name: "f".to_owned(),
            rows,
            begin,
            end,
            deletes: Vec::new(),
        }
    }

    #[test]
    fn erased_rows_are_deleted_in_every_snapshot_that_reaches_the_file() {
        let mut end = None;
        let found = periods(&file(5, 3, None), &[1, 2], Vec::new(), 0, &mut end);
        assert_eq!(found, [(3, None, vec![1, 2])]);
        let deletes = vec![(4, Some(6), vec![0]), (6, None, vec![0, 2])];
        let found = periods(&file(5, 3, None), &[1, 2], deletes.clone(), 0, &mut end);
        let expected = [
            (3, Some(4), vec![1, 2]),
            (4, Some(6), vec![0, 1, 2]),
            (6, None, vec![0, 1, 2]),
        ];
        assert_eq!((found.as_slice(), end), (expected.as_slice(), None));
        // Snapshot 3 has expired.
        let found = periods(&file(5, 3, None), &[1, 2], deletes, 4, &mut end);
        assert_eq!((found.as_slice(), end), (&expected[1..], None));
    }

    #[test]
    fn a_file_ends_where_nothing_is_left_of_it() {
        let mut end = None;
        let deletes = vec![(4, Some(6), vec![0]), (6, None, vec![0, 2])];
        let found = periods(&file(3, 3, None), &[1], deletes, 0, &mut end);
        let expected = [(3, Some(4), vec![1]), (4, Some(6), vec![0, 1])];
        assert_eq!((found.as_slice(), end), (expected.as_slice(), Some(6)));
        let mut end = None;
        let found = periods(&file(2, 3, None), &[1], vec![(4, None, vec![0])], 4, &mut end);
        assert_eq!((found.as_slice(), end), ([].as_slice(), Some(4)));
    }
}
