//! The records of one search, or of one round of reads: a draft on disk, the names and references of its records, and
//! what the search shows to be missing. [`Work::keep`] adds the records to those that the job commits. If a catch is
//! dropped without a call of it, its records are lost, and its references are not followed.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::gap::{Gap, Why};
use super::search::{Loss, Losses, Page, Record, references};
use super::source::{Trouble, internal};
use super::spool::Draft;
use super::work::{Found, Held, Work, lock};
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
    /// Why the further pages of the search did not come.
    cut: Option<Trouble>,
    losses: Losses,
    /// The newest `Bundle.total` of the search, and the number of matches that came.
    total: Option<u64>,
    matches: u64,
}

impl Catch<'_> {
    /// Records that the further pages of the search did not come.
    pub(super) fn cut(&mut self, trouble: Trouble) {
        self.cut = Some(trouble);
    }

    /// Whether further pages of the search did not come.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// Returns what the search shows to be missing: `part` is the filter of a narrower search.
    fn gaps(&mut self, resource_type: &'static str, part: Option<&str>) -> Vec<Gap> {
        let mut losses = std::mem::take(&mut self.losses);
        let gap = |why, records| Gap {
            part: part.map(str::to_owned),
            records,
            ..Gap::of(resource_type, why)
        };
        let mut gaps = Vec::new();
        match self.cut.take() {
            Some(trouble) => gaps.push(gap(Why::Cut(trouble), None)),
            // A search that was cut is told already.
            None => {
                let short = self.total.unwrap_or_default().saturating_sub(self.matches);
                if short > 0 {
                    losses.note(Loss::Short, short);
                }
            }
        }
        gaps.extend(
            losses
                .into_iter()
                .map(|(loss, count)| gap(Why::Lost(loss), Some(count))),
        );
        gaps
    }

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
            cut: None,
            losses: Losses::default(),
            total: None,
            matches: 0,
        })
    }

    /// Adds the records of a page, and what the page shows to be missing. Returns the address of the next page.
    pub(super) fn take_page(&self, page: Page, catch: &mut Catch<'_>) -> Result<Option<String>, Trouble> {
        self.learn(&page.records);
        for record in &page.records {
            self.take(record, catch)?;
        }
        catch.losses.add(page.losses);
        catch.total = page.total.or(catch.total);
        catch.matches += page.matches;
        Ok(page.next)
    }

    /// Learns from the addresses of records under which other bases the source shows its records.
    fn learn(&self, records: &[Record]) {
        let known = self.base.read().unwrap_or_else(PoisonError::into_inner);
        let shown = |record: &Record| {
            let address = record.full_url.as_deref()?;
            let is_new = known.relative(address).is_none() && address.ends_with(&record.name);
            is_new.then(|| (address.to_owned(), record.name.clone()))
        };
        let new: Vec<(String, String)> = records.iter().filter_map(shown).collect();
        drop(known);
        if !new.is_empty() {
            let mut base = self.base.write().unwrap_or_else(PoisonError::into_inner);
            for (address, name) in new {
                base.learn(&address, &name);
            }
        }
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
        let base = self.base.read().unwrap_or_else(PoisonError::into_inner);
        references(&record.line, &base, |type_id, id| {
            let name = facts().get(type_id).name;
            // Patients of other people are not fetched. `attach` fetches Binaries.
            if self.granted.contains(&type_id) && !matches!(name, "Patient" | "Binary") && catch.wanted.len() < WANTED {
                catch.wanted.insert(format!("{name}/{id}"));
            }
        });
        Ok(())
    }

    /// Adds the records of a search to the records that the job commits. `part` is the filter of a narrower search.
    pub(super) fn found(
        &self,
        resource_type: &'static str,
        part: Option<&str>,
        mut catch: Box<Catch<'_>>,
    ) -> Result<Found, Trouble> {
        let gaps = catch.gaps(resource_type, part);
        let records = self.keep(*catch)?;
        Ok(Found { records, gaps })
    }

    /// Adds the records of a catch to the records that the job commits. Returns the number of added records.
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
