//! The interface to keys for the rest of the lake. An open lake has none, a sealed lake has a keys database.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::database::store::KeyStore;
use super::error::SealError;
use super::key::{FileKey, LentKey};
use super::key_id::KeyId;
use super::kind::Kind;

/// The keys of a lake, and the kind of the lake. Cheap to clone. Clones share both, so all of them notice when the lake
/// changes its kind.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: RwLock<State>,
    /// Keys in use: new keys that are not stored yet, because a writer may read its file before the commit, and keys of
    /// files that a running answer still reads. A key is found here until it is dropped, even after it was removed from
    /// the database.
    lent: Mutex<FxHashMap<KeyId, LentKey>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    kind: Kind,
    store: Option<Arc<KeyStore>>,
}

impl Keys {
    /// The keys of an open lake: none.
    pub fn none() -> Keys {
        Keys::default()
    }

    /// The keys of a sealed lake.
    pub fn of(store: KeyStore) -> Keys {
        Keys::of_kind(Kind::Sealed, Some(store))
    }

    /// The keys of a lake of this kind.
    pub(in crate::lake) fn of_kind(kind: Kind, store: Option<KeyStore>) -> Keys {
        let keys = Keys::default();
        keys.turn(kind, store);
        keys
    }

    /// Changes the kind of the lake. `store` has the keys if they were unknown before.
    pub(in crate::lake) fn turn(&self, kind: Kind, store: Option<KeyStore>) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        let store = store.map(Arc::new).or_else(|| state.store.take());
        *state = State {
            kind,
            store: store.filter(|_| kind.has_keys()),
        };
    }

    fn state(&self) -> State {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self) -> Option<Arc<KeyStore>> {
        self.state().store
    }

    fn lent(&self) -> MutexGuard<'_, FxHashMap<KeyId, LentKey>> {
        self.0.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kind of the lake.
    pub fn kind(&self) -> Kind {
        self.state().kind
    }

    /// Whether new files are sealed.
    pub fn seals(&self) -> bool {
        self.kind().seals()
    }

    /// Whether sealed files can be opened.
    pub(in crate::lake) fn open_sealed(&self) -> bool {
        self.store().is_some()
    }

    /// A key for a new file, in memory only. `None` if new files are in clear.
    pub fn make(&self) -> Result<Option<FileKey>, SealError> {
        let state = self.state();
        if !state.kind.seals() {
            return Ok(None);
        }
        // A sealed lake never accepts a clear file.
        let store = state.store.ok_or(SealError::NoKek)?;
        let key = store.make()?;
        self.lend(&key);
        Ok(Some(key))
    }

    /// The key with this id. Any holder keeps it available, even after it was destroyed in the database.
    pub(in crate::lake) fn hold(&self, id: &KeyId) -> Result<FileKey, SealError> {
        let key = self.key(id)?;
        self.lend(&key);
        Ok(key)
    }

    fn lend(&self, key: &FileKey) {
        let mut lent = self.lent();
        lent.retain(|_, lent| lent.is_held());
        lent.insert(key.id(), key.lent());
    }

    /// Stores keys durably, before anything names them.
    pub fn keep(&self, keys: &[FileKey]) -> Result<(), SealError> {
        match self.store() {
            Some(store) => store.keep(keys),
            None if keys.is_empty() => Ok(()),
            // Return an error, because the catalog is about to name keys that were not stored.
            None => Err(SealError::NoKek),
        }
    }

    /// The key with this id.
    pub fn key(&self, id: &KeyId) -> Result<FileKey, SealError> {
        if let Some(lent) = self.lent_key(id) {
            return Ok(lent);
        }
        self.store().ok_or(SealError::Unopened(*id))?.key(id)
    }

    fn lent_key(&self, id: &KeyId) -> Option<FileKey> {
        self.lent().get(id).and_then(LentKey::get)
    }

    /// Whether somebody holds the key of this id.
    pub(super) fn is_lent(&self, id: &KeyId) -> bool {
        self.lent_key(id).is_some()
    }

    /// Destroys keys. See [`KeyStore::destroy`].
    pub fn destroy(&self, ids: &[KeyId]) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.destroy(ids))
    }

    /// Destroys all keys but these in every registered copy of the database.
    pub(super) fn retire_in_copies(&self, kept: &BTreeSet<KeyId>) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.retire_in_copies(kept))
    }

    /// Makes or renews a registered copy of the database. Returns the number of keys.
    pub(in crate::lake) fn make_copy(&self, to: &Path) -> Result<u64, SealError> {
        self.store().ok_or(SealError::NoKek)?.make_copy(to)
    }

    /// The ids of all stored keys.
    pub fn ids(&self) -> Result<Vec<KeyId>, SealError> {
        self.store().map_or_else(|| Ok(Vec::new()), |store| store.ids())
    }

    /// Drops keys that another process has destroyed.
    pub fn refresh(&self) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.refresh())
    }

    /// Makes a database with some of these keys in another folder.
    pub(in crate::lake) fn copy_to(&self, folder: &Path, ids: Option<&[KeyId]>) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.copy_to(folder, ids))
    }

    /// The number of keys that somebody holds.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lent().values().filter(|lent| lent.is_held()).count()
    }
}
