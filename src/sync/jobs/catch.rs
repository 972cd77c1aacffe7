//! The records of one search, or of one round of reads: a draft on disk, and the names and references of its records.
//! [`Work::keep`] adds the records to those that the job commits. If a catch is dropped without a call of it, its
//! records are lost, and its references are not followed.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::search::{Record, references};
use super::source::{Trouble, internal};
use super::spool::Draft;
use super::work::{Held, Work, lock};
use crate::fhir::facts;

/// The maximum number of references that are remembered.
const WANTED: usize = 200_000;

/// Records that have arrived and that [`Work::keep`] has not added to the job's records yet.
pub(super) struct Catch<'w> {
    held: &'w Held,
    draft: Option<Draft>,
    bytes: u64,
    records: u64,
    /// The number of records of types that were not granted.
    unasked: u64,
    met: Vec<String>,
    wanted: BTreeSet<String>,
}

impl Catch<'_> {
    /// Whether the catch has a record with this name, such as `Patient/1`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.met.iter().any(|one| one == name)
    }
}

impl Drop for Catch<'_> {
    fn drop(&mut self) {
        self.held.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.held.records.fetch_sub(self.records, Ordering::Relaxed);
    }
}

impl<'w> Work<'w> {
    /// Begins an empty catch. `draft` is the name of its file.
    pub(super) fn begin(&'w self, draft: &str) -> Result<Catch<'w>, Trouble> {
        Ok(Catch {
            held: &self.held,
            draft: Some(self.spool.draft(draft).map_err(internal)?),
            bytes: 0,
            records: 0,
            unasked: 0,
            met: Vec::new(),
            wanted: BTreeSet::new(),
        })
    }

    /// Adds a record with its references. Leaves out a record of a type that was not granted, and counts it.
    pub(super) fn take(&self, record: &Record, catch: &mut Catch<'_>) -> Result<(), Trouble> {
        let name = record.name.split('/').next().unwrap_or_default();
        if !self.is_granted(name) {
            catch.unasked += 1;
            return Ok(());
        }
        let length = record.line.len() as u64;
        catch.bytes += length;
        catch.records += 1;
        let bytes = self.held.bytes.fetch_add(length, Ordering::Relaxed) + length;
        let records = self.held.records.fetch_add(1, Ordering::Relaxed) + 1;
        if bytes > self.limits.bytes || records > self.limits.records {
            return Err(Trouble::Over(
                "the source gives more than is taken of one patient".to_owned(),
            ));
        }
        if let Some(draft) = &mut catch.draft {
            draft.line(&record.line).map_err(internal)?;
        }
        catch.met.push(record.name.clone());
        references(&record.line, self.source.base(), |type_id, id| {
            let name = facts().get(type_id).name;
            // Patients of other people are not fetched. `attach` fetches Binaries.
            if self.granted.contains(&type_id) && !matches!(name, "Patient" | "Binary") && catch.wanted.len() < WANTED {
                catch.wanted.insert(format!("{name}/{id}"));
            }
        });
        Ok(())
    }

    /// Adds the records of a complete catch to the records that the job commits. Returns the number of added records.
    pub(super) fn keep(&self, mut catch: Catch<'_>) -> Result<u64, Trouble> {
        let Some(draft) = catch.draft.take() else { return Ok(0) };
        let records = self.spool.keep(draft).map_err(internal)?;
        // `held` keeps the sizes of these records from now on. Dropping the catch subtracts its numbers from `held`, so
        // set them to 0.
        (catch.bytes, catch.records) = (0, 0);
        self.unasked.fetch_add(catch.unasked, Ordering::Relaxed);
        lock(&self.met).extend(std::mem::take(&mut catch.met));
        let mut wanted = lock(&self.wanted);
        let room = WANTED.saturating_sub(wanted.len());
        wanted.extend(std::mem::take(&mut catch.wanted).into_iter().take(room));
        Ok(records)
    }
}
