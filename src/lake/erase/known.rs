//! What a process has to hide: rows of erasures that are not finished, and of finished ones from whoever still holds a picture
//! that was made before.

use std::sync::Arc;

use super::intent::{Erasure, Erasures};
use crate::lake::picture::Picture;
use crate::lake::scope::Scope;

/// The erasures that this process knows of.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct Known {
    epoch: u64,
    list: Vec<One>,
}

#[derive(Clone, Debug)]
struct One {
    erasure: Arc<Erasure>,
    /// Pictures of this epoch and later ones have no such rows.
    finished: Option<u64>,
}

impl Known {
    /// What is known once `now` was read from the catalog, while no picture from before `oldest` is held; `None` where that is
    /// nothing new.
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
        Some(Known { epoch: now.epoch, list })
    }

    /// The erasures that a scope's reading of a picture has to honour.
    pub(in crate::lake) fn of(&self, picture: &Picture, scope: &Scope) -> Box<[Arc<Erasure>]> {
        let concerns = |one: &&One| {
            one.finished.is_none_or(|finished| finished > picture.erasures.epoch)
                && one.erasure.scope.mode == scope.mode
                && one.erasure.scope.application == scope.application
        };
        let list = self.list.iter().filter(concerns);
        list.map(|one| Arc::clone(&one.erasure)).collect()
    }
}
