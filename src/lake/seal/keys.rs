//! What the rest of the lake asks for keys: nothing in an open lake, the keys database in a sealed one.

use std::sync::Arc;

use super::error::SealError;
use super::key::{FileKey, KeyId};
use super::store::KeyStore;

/// The keys of a lake. Cheap to clone; clones share one database and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Keys(Option<Arc<KeyStore>>);

impl Keys {
    /// Those of an open lake: there are none.
    pub fn none() -> Keys {
        Keys(None)
    }

    /// Those of a sealed lake.
    pub fn of(store: KeyStore) -> Keys {
        Keys(Some(Arc::new(store)))
    }

    /// Whether new files are sealed.
    pub fn seals(&self) -> bool {
        self.0.is_some()
    }

    /// A key for a new file, in memory only; `None` in an open lake.
    pub fn make(&self) -> Result<Option<FileKey>, SealError> {
        self.0.as_ref().map(|store| store.make()).transpose()
    }

    /// Keeps keys durably, before anything names them.
    pub fn keep(&self, keys: &[FileKey]) -> Result<(), SealError> {
        self.0.as_ref().map_or(Ok(()), |store| store.keep(keys))
    }

    /// The key of this id.
    pub fn key(&self, id: &KeyId) -> Result<FileKey, SealError> {
        self.0.as_ref().ok_or(SealError::Unopened(*id))?.key(id)
    }

    /// Destroys keys; see [`KeyStore::destroy`].
    pub fn destroy(&self, ids: &[KeyId]) -> Result<(), SealError> {
        self.0.as_ref().map_or(Ok(()), |store| store.destroy(ids))
    }

    /// The ids of all keys that are kept.
    pub fn ids(&self) -> Result<Vec<KeyId>, SealError> {
        self.0.as_ref().map_or_else(|| Ok(Vec::new()), |store| store.ids())
    }

    /// Forgets what another process has destroyed meanwhile.
    pub fn refresh(&self) -> Result<(), SealError> {
        self.0.as_ref().map_or(Ok(()), |store| store.refresh())
    }
}
