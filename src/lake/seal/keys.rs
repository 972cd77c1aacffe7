//! What the rest of the lake asks for keys: nothing in an open lake, the keys database in a sealed one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::error::SealError;
use super::key::{FileKey, KeyId};
use super::store::KeyStore;

/// The keys of a lake. Cheap to clone; clones share one database and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Keys(Option<Arc<Known>>);

#[derive(Debug)]
struct Known {
    store: KeyStore,
    /// Keys that were made and are not kept yet: whoever writes a file may read it before the commit.
    made: Mutex<FxHashMap<KeyId, FileKey>>,
}

impl Known {
    fn made(&self) -> MutexGuard<'_, FxHashMap<KeyId, FileKey>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// Those of an open lake: there are none.
    pub fn none() -> Keys {
        Keys(None)
    }

    /// Those of a sealed lake.
    pub fn of(store: KeyStore) -> Keys {
        Keys(Some(Arc::new(Known {
            store,
            made: Mutex::default(),
        })))
    }

    /// Whether new files are sealed.
    pub fn seals(&self) -> bool {
        self.0.is_some()
    }

    /// A key for a new file, in memory only; `None` in an open lake.
    pub fn make(&self) -> Result<Option<FileKey>, SealError> {
        let Some(known) = &self.0 else { return Ok(None) };
        let key = known.store.make()?;
        known.made().insert(key.id(), key.clone());
        Ok(Some(key))
    }

    /// Keeps keys durably, before anything names them.
    pub fn keep(&self, keys: &[FileKey]) -> Result<(), SealError> {
        let Some(known) = &self.0 else { return Ok(()) };
        known.store.keep(keys)?;
        let mut made = known.made();
        keys.iter().for_each(|key| drop(made.remove(&key.id())));
        Ok(())
    }

    /// The key of this id.
    pub fn key(&self, id: &KeyId) -> Result<FileKey, SealError> {
        let known = self.0.as_ref().ok_or(SealError::Unopened(*id))?;
        let made = known.made().get(id).cloned();
        made.map_or_else(|| known.store.key(id), Ok)
    }

    /// Destroys keys; see [`KeyStore::destroy`].
    pub fn destroy(&self, ids: &[KeyId]) -> Result<(), SealError> {
        self.0.as_ref().map_or(Ok(()), |known| known.store.destroy(ids))
    }

    /// The ids of all keys that are kept.
    pub fn ids(&self) -> Result<Vec<KeyId>, SealError> {
        self.0
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |known| known.store.ids())
    }

    /// Forgets what another process has destroyed meanwhile.
    pub fn refresh(&self) -> Result<(), SealError> {
        self.0.as_ref().map_or(Ok(()), |known| known.store.refresh())
    }
}
