//! The search index over the directory, cached in memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::super::record::AuthorizationType;
use super::index::Index;
use crate::lake::Mode;

/// After how many seconds the index is rebuilt, so that it has the present popularity of the endpoints.
const FRESH_SECONDS: i64 = 3_600;

/// The cached index. `None` before the first search.
#[derive(Debug, Default)]
pub(in crate::consent) struct Catalogue(Mutex<Option<Arc<Made>>>);

impl Catalogue {
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Arc<Made>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An index, and the state of the directory from which it was built.
#[derive(Debug)]
pub(super) struct Made {
    /// The store's count of changes when the index was built.
    pub(super) change: i64,
    pub(super) made_at: i64,
    pub(super) index: Index,
    /// The endpoints. The position of an endpoint is its number in the index.
    pub(super) endpoints: Vec<Numbered>,
}

/// What the search needs to know of an endpoint, besides its words.
#[derive(Debug)]
pub(super) struct Numbered {
    pub(super) id: String,
    pub(super) mode: Mode,
    pub(super) authorization_type: AuthorizationType,
}

impl Made {
    pub(super) fn is_fresh(&self, change: i64, now: i64) -> bool {
        self.change == change && self.made_at <= now && now < self.made_at + FRESH_SECONDS
    }
}
