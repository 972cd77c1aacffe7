//! Erases superseded rows: earlier versions, and deleted rows, that only older snapshots have.

use std::ops::RangeInclusive;

use super::evidence::subject;
use super::intent::Intent;
use super::prepare::{Hindrance, Superseded, prepare_superseded, reasons};
use super::run::{AT_ONCE, Progress, Work, keys_left};
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;
use crate::lake::owners::scope::Scope;

impl LakeWriter {
    /// Removes the rows of these intents that older snapshots have and the newest one does not. These rows may hold
    /// values that were erased elsewhere in the meantime. Returns for each intent the places where such rows may
    /// remain, as texts with the reasons.
    ///
    /// It records no erasure, because the newest snapshot shows no such row. So if the call is interrupted, the caller
    /// must repeat it. `of` has one erasure for each intent. The files from which an intent's rows are removed become
    /// evidence of the erasure at the same index in `of`.
    pub fn erase_superseded(&mut self, intents: &[Intent], of: &[Intent]) -> Result<Vec<Vec<String>>, LakeError> {
        let snapshot = self.lake().snapshot();
        let key = self.lake().owner_key();
        let subjects: Vec<String> = of.iter().map(|intent| subject(key, intent)).collect();
        let numbers: Vec<u32> = subjects.iter().map(|subject| self.erased_ids.number(subject)).collect();
        let identifiers = self.erased_ids.identifiers.clone();
        let folder = self.lake().folder().clone();
        let scopes: Vec<Scope> = intents.iter().map(Intent::scope).collect();
        let may_hold = |at: usize, owners: &RangeInclusive<i64>| {
            let own = &intents[at].patient.owners;
            own.iter().any(|owner| owners.contains(owner))
        };
        let mut left = vec![Vec::new(); intents.len()];
        let (mut work, mut progress) = (Work::default(), Progress::default());
        for table in snapshot.tables.values() {
            let of_mode: Vec<usize> = (0..scopes.len()).filter(|at| scopes[*at].mode == table.mode).collect();
            let files = catalog::reached(&self.connection, table.table_id, |_, owners| {
                of_mode.iter().any(|at| may_hold(*at, owners))
            })?;
            for file in files {
                let asked = || of_mode.iter().copied().filter(|at| may_hold(*at, &file.owners));
                let whose: Vec<Superseded<'_>> = asked()
                    .filter_map(|at| {
                        Some(Superseded {
                            scope: &scopes[at],
                            subject: subjects.get(at)?,
                            number: *numbers.get(at)?,
                        })
                    })
                    .collect();
                let oldest = catalog::oldest_snapshot(&self.connection)?;
                match prepare_superseded(&folder, table, &file, &whose, (&identifiers, oldest)) {
                    Ok(Some(prepared)) => work.add(prepared),
                    Ok(None) | Err(Hindrance::Gone) => {}
                    Err(Hindrance::Error(error)) => {
                        asked().for_each(|at| left[at].push(format!("{} ({})", file.name, reasons(&error))));
                    }
                }
                if work.bytes > AT_ONCE {
                    self.exchange_superseded(std::mem::take(&mut work), &mut progress)?;
                }
            }
        }
        if !work.exchanges.is_empty() {
            self.exchange_superseded(work, &mut progress)?;
            self.note_erasures();
        }
        // Do this even if no file was replaced now, because an earlier call may have failed to destroy keys or to empty
        // the log.
        progress.left.extend(self.destroy_keys().err().map(keys_left));
        progress.left.extend(self.log_left());
        left.iter_mut()
            .for_each(|left| left.extend(progress.left.iter().cloned()));
        Ok(left)
    }

    fn exchange_superseded(&mut self, work: Work<'_>, progress: &mut Progress) -> Result<(), LakeError> {
        // Create the table of erasures if it is missing: an exchange raises the epoch, and a catalog with an epoch must
        // have this table.
        catalog::watch_erasures(&self.connection)?;
        self.exchange(work, &[], &[], progress)
    }
}
