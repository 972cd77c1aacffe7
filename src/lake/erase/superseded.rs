//! Erasing earlier versions: rows that only older snapshots have.

use std::ops::RangeInclusive;

use super::intent::Intent;
use super::prepare::{Hindrance, prepare_superseded, reasons};
use super::run::{AT_ONCE, Progress, Work};
use crate::lake::catalog;
use crate::lake::error::LakeError;
use crate::lake::scope::Scope;
use crate::lake::writer::LakeWriter;

impl LakeWriter {
    /// Takes rows that these scopes have as their own out of all snapshots but the newest, which has them no more:
    /// earlier versions may hold what was erased elsewhere since. Says for each where such rows still stand, and why.
    ///
    /// Nothing is recorded: the newest snapshot shows nobody such rows, and who asked asks again if this does not come
    /// to its end.
    pub fn erase_superseded(&mut self, intents: &[Intent]) -> Result<Vec<Vec<String>>, LakeError> {
        let picture = self.lake().picture();
        let folder = self.lake().folder().clone();
        let scopes: Vec<Scope> = intents.iter().map(Intent::scope).collect();
        let may_hold = |at: usize, owners: &RangeInclusive<i64>| {
            let own = &intents[at].patient.owners;
            own.iter().any(|owner| owners.contains(owner))
        };
        let mut left = vec![Vec::new(); intents.len()];
        let (mut work, mut progress) = (Work::default(), Progress::default());
        for table in picture.tables.values() {
            let of_mode: Vec<usize> = (0..scopes.len()).filter(|at| scopes[*at].mode == table.mode).collect();
            let files = catalog::reached(&self.connection, table.table_id, |_, owners| {
                of_mode.iter().any(|at| may_hold(*at, owners))
            })?;
            for file in files {
                let asked = || of_mode.iter().copied().filter(|at| may_hold(*at, &file.owners));
                let of: Vec<&Scope> = asked().map(|at| &scopes[at]).collect();
                let oldest = catalog::oldest_snapshot(&self.connection)?;
                match prepare_superseded(&folder, table, &file, &of, oldest) {
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
            if !catalog::empty_log(&self.connection)? {
                progress.left.push("the catalog's log".to_owned());
            }
            self.note_erasures();
        }
        left.iter_mut()
            .for_each(|left| left.extend(progress.left.iter().cloned()));
        Ok(left)
    }

    fn exchange_superseded(&mut self, work: Work<'_>, progress: &mut Progress) -> Result<(), LakeError> {
        // An exchange counts as the end of an erasure does, so the catalog has to have the table.
        catalog::watch_erasures(&self.connection)?;
        self.exchange(work, &[], &[], progress)
    }
}
