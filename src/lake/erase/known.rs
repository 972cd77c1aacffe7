//! The rows that a process must hide. Rows of unfinished erasures are hidden from all readers. Rows of a finished
//! erasure are hidden only from readers of a snapshot that was read before the erasure finished.

use std::sync::Arc;

use super::intent::{Erasure, Erasures, Intent};
use crate::lake::owners::scope::Scope;
use crate::lake::snapshot::Snapshot;

/// The erasures that this process knows of.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct Known {
    epoch: u64,
    list: Vec<One>,
    /// Erasures that were requested and are not recorded in the catalog yet.
    asked: Vec<Arc<Erasure>>,
}

#[derive(Clone, Debug)]
struct One {
    erasure: Arc<Erasure>,
    /// Snapshots that are read in this epoch or later have none of the erasure's rows. `None` while the erasure is
    /// unfinished.
    finished: Option<u64>,
}

impl Known {
    /// Returns what this process knows after it has read `now` from the catalog. `oldest` is the lowest epoch of any
    /// snapshot in memory. Forgets erasures that finished in this epoch or earlier, because no snapshot in memory has
    /// their rows. Returns `None` if `now` is not newer.
    pub(in crate::lake) fn learn(&self, now: &Erasures, oldest: u64) -> Option<Known> {
        if now.epoch <= self.epoch {
            return None;
        }
        let mut list = self.list.clone();
        for one in &mut list {
            if one.finished.is_none() && !now.pending.contains(&one.erasure) {
                one.finished = Some(now.epoch);
            }
        }
        list.retain(|one| one.finished.is_none_or(|finished| finished > oldest));
        for erasure in &now.pending {
            if !list.iter().any(|one| one.erasure == *erasure) {
                list.push(One {
                    erasure: Arc::clone(erasure),
                    finished: None,
                });
            }
        }
        Some(Known {
            epoch: now.epoch,
            list,
            asked: self.asked.clone(),
        })
    }

    /// Returns what this process knows if `intents` replace the erasures that were requested before. The rows of
    /// requested erasures are hidden from all readers. Returns `None` if `intents` are already the requested erasures.
    pub(in crate::lake) fn hiding(&self, intents: &[Intent]) -> Option<Known> {
        let same = |erasure: &Arc<Erasure>, intent: &Intent| *erasure.scope == intent.scope();
        if self.asked.len() == intents.len() && self.asked.iter().zip(intents).all(|(one, intent)| same(one, intent)) {
            return None;
        }
        let asked = intents.iter().map(|intent| {
            let known = self.asked.iter().find(|one| same(one, intent));
            known.cloned().unwrap_or_else(|| Arc::new(Erasure::unrecorded(intent)))
        });
        Some(Known {
            epoch: self.epoch,
            list: self.list.clone(),
            asked: asked.collect(),
        })
    }

    /// Returns the erasures whose rows must be hidden from a scope that reads a snapshot.
    pub(in crate::lake) fn of(&self, snapshot: &Snapshot, scope: &Scope) -> Box<[Arc<Erasure>]> {
        let is_left = |one: &&One| one.finished.is_none_or(|finished| finished > snapshot.erasures.epoch);
        let recorded = self.list.iter().filter(is_left).map(|one| &one.erasure);
        let concerns = |erasure: &&Arc<Erasure>| {
            erasure.scope.mode == scope.mode && erasure.scope.application == scope.application
        };
        recorded.chain(&self.asked).filter(concerns).map(Arc::clone).collect()
    }
}
