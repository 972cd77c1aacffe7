//! The result of one search or one round of reads: its records in a draft on disk, their names, and their references.
//! It counts for the job once it is kept. A dropped result leaves no trace, and its references are not followed.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use super::search::{Record, references};
use super::source::{Trouble, internal};
use super::spool::Draft;
use super::work::{Held, Work, lock};
use crate::fhir::facts;

/// The maximum number of stored references.
const WANTED: usize = 200_000;

/// Records that have arrived but are not kept yet.
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
    /// Whether it contains a record with this name, such as `Patient/1`.
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
    /// Begins an empty result.
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

    /// Adds a record and its references.
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
            // Other people's Patients are not fetched, and `attach` handles Binaries.
            if self.granted.contains(&type_id) && !matches!(name, "Patient" | "Binary") && catch.wanted.len() < WANTED {
                catch.wanted.insert(format!("{name}/{id}"));
            }
        });
        Ok(())
    }

    /// Adds a complete result to the results of the job. Returns the number of its records.
    pub(super) fn keep(&self, mut catch: Catch<'_>) -> Result<u64, Trouble> {
        let Some(draft) = catch.draft.take() else { return Ok(0) };
        let records = self.spool.keep(draft).map_err(internal)?;
        // A kept result still counts, so its drop must not subtract it.
        (catch.bytes, catch.records) = (0, 0);
        self.unasked.fetch_add(catch.unasked, Ordering::Relaxed);
        lock(&self.met).extend(std::mem::take(&mut catch.met));
        let mut wanted = lock(&self.wanted);
        let room = WANTED.saturating_sub(wanted.len());
        wanted.extend(std::mem::take(&mut catch.wanted).into_iter().take(room));
        Ok(records)
    }
}
