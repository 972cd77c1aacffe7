//! Carries out erasures. It records them, rewrites every file that any snapshot reaches, exchanges the files, and
//! removes the old ones.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::erased::Erased;
use super::evidence::{ErasedFile, subject};
use super::intent::{Erasure, Intent};
use super::prepare::{Found, Fresh, Hindrance, Prepared, Wanted, ids_of, meant, prepare, reasons};
use super::search::Identifiers;
use crate::fhir::facts;
use crate::lake::catalog::{self, Exchange, StoredFile};
use crate::lake::commit::transaction::sync_files;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::erase::ledger;
use crate::lake::erase::ledger::Entered;
use crate::lake::error::LakeError;
use crate::lake::owners::scope::{Mode, PatientScope, Scope};
use crate::lake::snapshot::{Snapshot, TableSnapshot};
use crate::parallel;

/// New files replace the old ones as soon as they have more bytes than this together. It is also the approximate number
/// of bytes of the old files that are rewritten at the same time. So the disk needs up to about twice this much
/// additional space. If the process is killed, up to this much work is lost.
pub(super) const AT_ONCE: u64 = 1 << 30;

/// The number of files whose erased ids are in memory at the same time.
const FILES_IN_CHUNK: usize = 16;
/// The maximum number of files that are rewritten at the same time. Each keeps an encoded row group in memory.
const FILES_AT_ONCE: usize = 4;

impl Erased {
    fn add(&mut self, found: &Found) {
        *self.resources.entry(found.type_id).or_default() += found.live;
        self.rows += found.rows;
        *if found.rewritten {
            &mut self.files_rewritten
        } else {
            &mut self.files_removed
        } += 1;
    }
}

/// Replacement files that are not in the catalog yet.
#[derive(Default)]
pub(super) struct Work<'p> {
    pub(super) exchanges: Vec<Exchange<'p>>,
    fresh: Fresh,
    found: Vec<Found>,
    told: Vec<(String, ErasedFile)>,
    pub(super) bytes: u64,
}

impl<'p> Work<'p> {
    pub(super) fn add(&mut self, prepared: Prepared<'p>) {
        self.exchanges.push(prepared.exchange);
        self.fresh.append(prepared.fresh);
        self.found.extend(prepared.found);
        self.told.extend(prepared.told);
        self.bytes += prepared.bytes;
    }
}

/// The results of erasures so far, by the ids of the erasures.
#[derive(Default)]
pub(super) struct Progress {
    done: BTreeMap<u64, Erased>,
    /// The ids of erasures that cannot finish, because a file could not be read or rewritten.
    hindered: BTreeSet<u64>,
    /// Whether writing the erasures to the ledger failed. Then none of the erasures is finished.
    is_unlisted: bool,
    /// The record of the ledger for the catalog, after the erasures were entered. `None` if the lake has no ledger yet.
    entered: Option<Entered>,
    /// Places where bytes of any erasure may remain, as texts. Examples are old files and keys that could not be
    /// removed, and files that could not be replaced because of a disk error.
    pub(super) left: Vec<String>,
}

impl LakeWriter {
    /// Erases a patient's own rows, from the newest snapshot and from all older readable ones. Shared rows stay, even
    /// if the patient sees them. Rows that are committed later stay too, even if they have the same contents.
    ///
    /// As soon as the erasure is recorded, no reader sees the rows. If this call fails or is killed after that, the
    /// next writer continues the erasure.
    pub fn erase(&mut self, mode: Mode, application: &str, patient: &PatientScope) -> Result<Erased, LakeError> {
        let intent = Intent {
            mode,
            application: application.to_owned(),
            patient: patient.clone(),
        };
        let mut done = self.erase_all(std::slice::from_ref(&intent))?;
        Ok(done.pop().unwrap_or_default())
    }

    /// Erases the rows of several intents at once. This costs little more than to erase the intent with the most rows
    /// alone, because each file is rewritten once. Returns the result for each intent. [`Erased::left`] lists what
    /// could not be finished. Unfinished erasures are recorded and their rows hidden, so they need not be requested
    /// again. If an erasure is requested again, the result also lists what the earlier erasure could not remove, even
    /// if the lake has no row of it any more.
    pub fn erase_all(&mut self, intents: &[Intent]) -> Result<Vec<Erased>, LakeError> {
        let ids = self.record_erasures(intents)?;
        let done = self.finish_erasures();
        let left = self.remains(intents);
        let of = |id: &Option<u64>| id.and_then(|id| done.get(&id).cloned()).unwrap_or_default();
        let mut done: Vec<Erased> = ids.iter().map(of).collect();
        for (done, left) in done.iter_mut().zip(left) {
            let fresh = left.into_iter().filter(|clause| !done.left.contains(clause));
            let fresh: Vec<String> = fresh.collect();
            done.left.extend(fresh);
        }
        // An erasure that this call has recorded has emptied the log already. An intent without rows was not recorded.
        // If it has evidence, it repeats an earlier erasure, so empty the log for it here.
        let is_repeated = |intent: &Intent| {
            let subject = subject(self.lake().owner_key(), intent);
            catalog::entries(&self.connection, &subject).is_ok_and(|entries| !entries.is_empty())
        };
        let repeated: Vec<usize> = (0..ids.len())
            .filter(|at| ids[*at].is_none() && is_repeated(&intents[*at]))
            .collect();
        if !repeated.is_empty() {
            let left = self.log_left();
            repeated.iter().for_each(|at| done[*at].left.extend(left.clone()));
        }
        Ok(done)
    }

    /// Removes orphans and replaced files that may hold rows of these intents, and destroys the keys of replaced
    /// files. Returns texts for each intent: what could not be removed, and what `tabularium check --adopt` has kept.
    fn remains(&self, intents: &[Intent]) -> Vec<Vec<String>> {
        // Remove orphans of interrupted writers, too. They may have rows of these intents, though no snapshot has the
        // orphans.
        let scopes: Vec<Scope> = intents.iter().map(Intent::scope).collect();
        let scopes: Vec<&Scope> = scopes.iter().collect();
        let mut of_all = self.remove_orphans_of(&scopes);
        match self.remove_scheduled() {
            Ok(not_removed) => of_all.extend(not_removed.iter().map(|error| reasons(error))),
            Err(error) => of_all.push(reasons(&error)),
        }
        of_all.extend(self.destroy_all_keys().err().map(keys_left));
        let has_kept = !self.kept_with_rows_of(&scopes).is_empty();
        let of_one = |scope: &&Scope| {
            if has_kept {
                [of_all.clone(), self.kept_with_rows_of(&[*scope])].concat()
            } else {
                of_all.clone()
            }
        };
        scopes.iter().map(of_one).collect()
    }

    /// Empties the catalog's log. Returns a text for [`Erased::left`] if that failed.
    pub(super) fn log_left(&self) -> Option<String> {
        match catalog::empty_log(&self.connection) {
            Ok(true) => None,
            Ok(false) => {
                Some("the catalog's log, which could not be emptied while another program reads it".to_owned())
            }
            Err(error) => Some(format!("the catalog's log, which could not be emptied ({error})")),
        }
    }

    /// Does the first half of [`erase_all`](LakeWriter::erase_all): hides the rows from all readers, durably. Returns
    /// the id of each intent's erasure, or `None` for an intent without rows, which is not recorded.
    pub fn record_erasures(&mut self, intents: &[Intent]) -> Result<Vec<Option<u64>>, LakeError> {
        // Move aside the files that failed transactions of this writer may have left. They may have rows of these
        // intents.
        self.settle_orphans()?;
        let mut unique: Vec<&Intent> = Vec::new();
        let places: Vec<usize> = intents
            .iter()
            .map(|intent| {
                let known = unique.iter().position(|known| *known == intent);
                known.unwrap_or_else(|| {
                    unique.push(intent);
                    unique.len() - 1
                })
            })
            .collect();
        let mut ids = vec![None; unique.len()];
        let has_rows = self.have_rows(&unique)?;
        let there: Vec<usize> = (0..unique.len()).filter(|at| has_rows[*at]).collect();
        if !there.is_empty() {
            let intents: Vec<&Intent> = there.iter().map(|at| unique[*at]).collect();
            catalog::watch_erasures(&self.connection)?;
            // Write the catalog's mark first. If the catalog is lost and a new one is made from the files, the mark
            // names the erasures, so the rows do not come back.
            self.announce_erasures(&intents);
            let recorded = catalog::record(&mut self.connection, &intents)?;
            there.iter().zip(recorded).for_each(|(at, id)| ids[*at] = Some(id));
            self.recorded = Some(Instant::now());
            let base = self.lake().snapshot();
            self.publish(&base)?;
            self.note_erasures();
        }
        Ok(places.into_iter().map(|at| ids[at]).collect())
    }

    /// Sets the minimum time between the record of an erasure and the exchange of files. In this time other processes
    /// that read the lake can learn of the erasure. Until they do, they show the rows in the snapshots that they hold.
    pub fn let_readers_notice(&mut self, within: Duration) {
        self.notice = within;
    }

    /// Returns the results of erasures that an earlier writer began and this one continued.
    pub fn resumed(&self) -> &[(Intent, Erased)] {
        &self.resumed
    }

    /// Returns the erasures that are unfinished because a file could not be read, replaced or removed. No reader sees
    /// their rows, and each writer tries again.
    pub fn unfinished(&self) -> Vec<Intent> {
        let snapshot = self.lake().snapshot();
        let pending = snapshot.erasures.pending.iter();
        let mut unfinished: Vec<Intent> = pending.filter_map(|erasure| erasure.intent()).collect();
        for erasure in self.not_removed() {
            if !unfinished.contains(&erasure) {
                unfinished.push(erasure);
            }
        }
        unfinished
    }

    /// Returns for each intent whether any snapshot has rows or attachments of it. If a file cannot be read and its
    /// owner range contains an owner of the intent, the file counts as one with rows of the intent.
    fn have_rows(&self, intents: &[&Intent]) -> Result<Vec<bool>, LakeError> {
        let snapshot = self.lake().snapshot();
        let scopes: Vec<Scope> = intents.iter().map(|intent| intent.scope()).collect();
        let mut have = Vec::with_capacity(scopes.len());
        for intent in intents {
            have.push(catalog::means_attachments(&self.connection, intent)?);
        }
        for table in snapshot.tables.values() {
            let open = |have: &[bool]| -> Vec<usize> {
                let open = (0..scopes.len()).filter(|at| !have[*at] && scopes[*at].mode == table.mode);
                open.collect()
            };
            let may_hold = |at: usize, owners: &std::ops::RangeInclusive<i64>| {
                intents[at].patient.owners.iter().any(|owner| owners.contains(owner))
            };
            let asked = open(&have);
            let files = catalog::reached(&self.connection, table.table_id, |_, owners| {
                asked.iter().any(|at| may_hold(*at, owners))
            })?;
            for file in files {
                let asked: Vec<usize> = open(&have)
                    .into_iter()
                    .filter(|at| may_hold(*at, &file.owners))
                    .collect();
                if asked.is_empty() {
                    continue;
                }
                let of: Vec<&Scope> = asked.iter().map(|at| &scopes[*at]).collect();
                match meant(&self.path(table, &file), file.id, &of, self.lake().folder().keys()) {
                    Ok(rows) => asked
                        .iter()
                        .zip(&rows.of)
                        .for_each(|(at, rows)| have[*at] |= !rows.is_empty()),
                    Err(Hindrance::Gone) => {}
                    Err(Hindrance::Error(_)) => asked.iter().for_each(|at| have[*at] = true),
                }
            }
        }
        Ok(have)
    }

    fn path(&self, table: &TableSnapshot, file: &StoredFile) -> PathBuf {
        let folder = self.lake().folder().table(table.mode, facts().get(table.type_id).name);
        folder.join(&file.name)
    }

    /// Finishes the erasures of an earlier writer as far as possible. If an erasure cannot be finished, its rows stay
    /// hidden. The unfinished erasure does not prevent writing.
    pub(in crate::lake) fn go_on_erasing(&mut self) -> Result<(), LakeError> {
        let pending = self.lake().snapshot().erasures.pending.clone();
        if !pending.is_empty() {
            let mut done = self.finish_erasures();
            let of = |erasure: &Arc<Erasure>| Some((erasure.intent()?, done.remove(&erasure.id).unwrap_or_default()));
            self.resumed = pending.iter().filter_map(of).collect();
        } else if self.lake().snapshot().erasures.epoch > 0 {
            // A reader may have prevented the last erasure from emptying the log. Try again, without waiting for
            // readers.
            self.connection.busy_timeout(Duration::ZERO)?;
            catalog::empty_log(&self.connection)?;
            self.connection.busy_timeout(catalog::PATIENCE)?;
        }
        Ok(())
    }

    /// Finishes the recorded erasures. Returns the result of each erasure, by its id.
    ///
    /// Failures are part of the results and not an error, because the erasures are recorded and their rows hidden.
    fn finish_erasures(&mut self) -> BTreeMap<u64, Erased> {
        let pending = self.lake().snapshot().erasures.pending.clone();
        let mut progress = Progress::default();
        if pending.is_empty() {
            return progress.done;
        }
        let scopes: Vec<&Scope> = pending.iter().map(|erasure| &*erasure.scope).collect();
        progress.left = self.remove_orphans_of(&scopes);
        self.enter_in_ledger(&pending, &mut progress);
        if let Err(error) = self.rewrite_all(&pending, AT_ONCE, &mut progress) {
            // The disk may not have space for all new files at once. So rewrite one file after the other, which needs
            // less space.
            tracing::debug!(%error, "erasing goes on file by file");
            self.leaves_orphans = true;
            progress.hindered.clear();
            progress.done.values_mut().for_each(|done| done.left.clear());
            if matches!(error, LakeError::LedgerReplaced) {
                self.enter_in_ledger(&pending, &mut progress);
            }
            let again = self.lake().refresh();
            let again = again.and_then(|_| self.rewrite_all(&pending, 0, &mut progress));
            if let Err(error) = again {
                let left = format!("files that could not be replaced ({})", reasons(&error));
                progress.left.push(left);
            }
        }
        let mut left = std::mem::take(&mut progress.left);
        left.extend(self.log_left());
        self.note_erasures();
        for erasure in &pending {
            let done = progress.done.entry(erasure.id).or_default();
            done.left.extend(left.iter().cloned());
            done.left.extend(self.kept_with_rows_of(&[&erasure.scope]));
        }
        let all: BTreeSet<&String> = progress.done.values().flat_map(|done| &done.left).collect();
        for left in all {
            tracing::warn!("records that were to be erased are hidden, but bytes of them may stand in {left}");
        }
        progress.done
    }

    /// Enters the recorded erasures in the ledger, because the catalog keeps no record of a finished erasure. Does
    /// nothing if this writer repeats erasures of the ledger. If the ledger cannot be used, no erasure is finished.
    fn enter_in_ledger(&self, pending: &[Arc<Erasure>], progress: &mut Progress) {
        let (lake, now) = (self.lake(), self.lake().clock().now());
        let known = catalog::ledger(&self.connection);
        let entered = known.and_then(|known| match self.erases_again {
            true => Ok(known),
            false => ledger::enter(lake.folder().path(), lake.owner_key(), known.as_ref(), pending, now),
        });
        match entered {
            Ok(entered) => progress.entered = entered,
            Err(error) => {
                progress.is_unlisted = true;
                progress.left.push(format!("backups, because {error}"));
            }
        }
    }

    /// Rewrites every file that the erasures reach. The new files replace the old ones whenever they have more than
    /// `at_once` bytes, and at the end.
    fn rewrite_all(
        &mut self,
        pending: &[Arc<Erasure>],
        at_once: u64,
        progress: &mut Progress,
    ) -> Result<(), LakeError> {
        let snapshot = self.lake().snapshot();
        let folder = self.lake().folder().clone();
        let (numbers, identifiers) = self.collect_ids(&snapshot, pending)?;
        let wanted = Wanted {
            identifiers: &identifiers,
            numbers: &numbers,
        };
        let mut reached = Vec::new();
        for table in snapshot.tables.values() {
            let of_mode = || pending.iter().filter(|erasure| erasure.scope.mode == table.mode);
            let files = catalog::reached(&self.connection, table.table_id, |file, owners| {
                of_mode().any(|erasure| erasure.may_reach(file, owners))
            })?;
            reached.extend(files.into_iter().map(|file| {
                let may_reach = |erasure: &&Erasure| erasure.may_reach(file.id, &file.owners);
                let erasures: Vec<&Erasure> = of_mode().map(|erasure| &**erasure).filter(may_reach).collect();
                let bytes = std::fs::metadata(self.path(table, &file)).map_or(0, |file| file.len());
                (table, file, erasures, bytes)
            }));
        }
        let mut work = Work::default();
        let mut rest = reached.as_slice();
        while !rest.is_empty() {
            // Rewrite the next files together, the largest ones first. They have at most `at_once` bytes in total,
            // unless the first file alone has more.
            let mut bytes = 0;
            let is_within = |(at, (.., size)): &(usize, &(_, _, _, u64))| {
                bytes += *size;
                *at == 0 || bytes <= at_once
            };
            let count = rest.iter().enumerate().take_while(is_within).count();
            let (some, others) = rest.split_at(count);
            rest = others;
            let mut some: Vec<_> = some.iter().collect();
            some.sort_by_key(|(.., bytes)| Reverse(*bytes));
            let oldest = catalog::oldest_snapshot(&self.connection)?;
            let all_made = parallel::map(
                &some,
                // One thread more than processors, because a thread that syncs a file waits for the disk.
                (parallel::processors() + 1).min(FILES_AT_ONCE),
                |(table, file, erasures, _)| prepare(&folder, table, file, erasures, (&wanted, oldest)),
            );
            for ((table, file, erasures, _), mut made) in some.into_iter().zip(all_made) {
                let no_room = matches!(&made, Err(Hindrance::Error(error)) if error.is_of_writing());
                if no_room && !work.exchanges.is_empty() {
                    self.exchange(std::mem::take(&mut work), &[], &[], progress)?;
                    let oldest = catalog::oldest_snapshot(&self.connection)?;
                    made = prepare(&folder, table, file, erasures, (&wanted, oldest));
                }
                match made {
                    Ok(Some(prepared)) => work.add(prepared),
                    Ok(None) => {}
                    Err(Hindrance::Gone) => {
                        tracing::warn!(file = %file.name, "a data file is missing; nothing is left in it to erase");
                    }
                    Err(Hindrance::Error(error)) => {
                        let path = self.path(table, file);
                        let left = format!("{} ({})", path.display(), reasons(&error));
                        for erasure in erasures {
                            progress.hindered.insert(erasure.id);
                            progress.done.entry(erasure.id).or_default().left.push(left.clone());
                        }
                    }
                }
            }
            if work.bytes > at_once {
                self.exchange(std::mem::take(&mut work), &[], &[], progress)?;
            }
        }
        let ids = pending.iter().map(|erasure| erasure.id);
        let is_finished = |id: &u64| !progress.is_unlisted && !progress.hindered.contains(id);
        let finished: Vec<u64> = ids.filter(is_finished).collect();
        let attached: Vec<&Erasure> = pending.iter().map(|erasure| &**erasure).collect();
        if work.exchanges.is_empty() && finished.is_empty() && !self.have_attachments(&attached)? {
            return Ok(());
        }
        self.exchange(work, &finished, &attached, progress)
    }

    /// Collects the ids of all rows that the erasures cover. Returns a map from each erasure's id to the number of its
    /// subject. Also returns all ids that this writer has collected, including those of earlier erasures.
    fn collect_ids(
        &mut self,
        snapshot: &Snapshot,
        pending: &[Arc<Erasure>],
    ) -> Result<(BTreeMap<u64, u32>, Arc<Identifiers>), LakeError> {
        let key = self.lake().owner_key();
        let mut numbers = BTreeMap::new();
        for erasure in pending {
            if let Some(intent) = erasure.intent() {
                numbers.insert(erasure.id, self.erased_ids.number(&subject(key, &intent)));
            }
        }
        let folder = self.lake().folder().clone();
        let mut files = Vec::new();
        for table in snapshot.tables.values() {
            let of_mode = || pending.iter().filter(|erasure| erasure.scope.mode == table.mode);
            let reached = catalog::reached(&self.connection, table.table_id, |file, owners| {
                of_mode().any(|erasure| erasure.may_reach(file, owners))
            })?;
            for file in reached {
                let erasures: Vec<(&Erasure, u32)> = of_mode()
                    .filter(|erasure| erasure.may_reach(file.id, &file.owners))
                    .filter_map(|erasure| Some((&**erasure, *numbers.get(&erasure.id)?)))
                    .collect();
                files.push((table, file, erasures));
            }
        }
        let identifiers = Arc::make_mut(&mut self.erased_ids.identifiers);
        for files in files.chunks(FILES_IN_CHUNK) {
            let found = parallel::map(files, parallel::processors(), |(table, file, erasures)| {
                ids_of(&folder, table, file, erasures)
            });
            for ((table, ..), found) in files.iter().zip(found) {
                let resource_type = facts().get(table.type_id).name;
                // Ignore a file that cannot be read. The error is reported when the file is rewritten.
                for (number, ids) in found.into_iter().flatten() {
                    ids.iter().for_each(|id| identifiers.add(number, resource_type, id));
                }
            }
        }
        Ok((numbers, Arc::clone(&self.erased_ids.identifiers)))
    }

    /// Whether the erasures cover any existing attachment.
    fn have_attachments(&self, erasures: &[&Erasure]) -> Result<bool, LakeError> {
        for intent in erasures.iter().filter_map(|erasure| erasure.intent()) {
            if catalog::means_attachments(&self.connection, &intent)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces old files by new ones in all snapshots. Also removes the attachments that the erasures in `attached`
    /// cover, and the records of the `finished` erasures. Then removes the old files and destroys their keys.
    pub(super) fn exchange(
        &mut self,
        mut work: Work<'_>,
        finished: &[u64],
        attached: &[&Erasure],
        progress: &mut Progress,
    ) -> Result<(), LakeError> {
        sync_files(work.fresh.paths())?;
        let files = work
            .exchanges
            .iter()
            .filter_map(|exchange| exchange.written.as_ref()?.1.key.as_ref());
        let deletes = work.exchanges.iter().flat_map(|exchange| &exchange.deletes);
        let deletes = deletes.filter_map(|deletes| deletes.key.as_ref());
        self.lake().folder().keep_keys(files.chain(deletes))?;
        if let Some(recorded) = self.recorded.take() {
            std::thread::sleep(self.notice.saturating_sub(recorded.elapsed()));
        }
        let before = catalog::epoch(&self.connection)?;
        let mut files = Vec::new();
        for found in &mut work.found {
            files.extend(found.file.take().map(|file| (found.erasure, file)));
        }
        let told = catalog::Told {
            of_erasures: files,
            of_subjects: std::mem::take(&mut work.told),
        };
        let keys = self.lake().folder().keys().clone();
        let exchanged = catalog::exchange(
            &mut self.connection,
            (finished, progress.entered.as_ref()),
            &work.exchanges,
            attached,
            told,
            &keys,
        );
        if exchanged.is_ok() || !self.has_surely_stayed(before) {
            // The exchange succeeded. Or it returned an error, but the catalog may name the new files, or may name them
            // when its log is read again. In all these cases do not remove them. If the catalog does not name them, the
            // next writer moves them aside.
            work.fresh.keep();
            self.leaves_orphans |= exchanged.is_err();
        }
        for (erasure, attachments) in exchanged? {
            progress.done.entry(erasure).or_default().attachments += attachments;
        }
        for found in &work.found {
            progress.done.entry(found.erasure).or_default().add(found);
        }
        let base = self.lake().snapshot();
        self.publish(&base)?;
        // The catalog lists the old files for deletion. If one of them cannot be removed, all stay on this list, and
        // the next writer tries again.
        let not_removed = self.remove_scheduled()?;
        progress.left.extend(not_removed.iter().map(|error| reasons(error)));
        progress.left.extend(self.destroy_keys().err().map(keys_left));
        Ok(())
    }
}

/// Returns the text for [`Erased::left`] that says that keys could not be destroyed.
pub(super) fn keys_left(error: LakeError) -> String {
    format!(
        "older copies of files, because their keys could not be destroyed ({})",
        reasons(&error)
    )
}
