//! Access to a lake's keys for the other modules. An open lake has no keys, a sealed lake has a keys database.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::database::store::KeyStore;
use super::error::SealError;
use super::key::{FileKey, LentKey};
use super::key_id::KeyId;
use super::kind::Kind;

/// The keys of a lake, and the kind of the lake. Cheap to clone. All clones share the keys and the kind, so a change of
/// the kind reaches all of them.
#[derive(Clone, Debug, Default)]
pub struct Keys(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: RwLock<State>,
    /// The keys in use. Some are new and not stored yet: a writer may read its file before the commit. The others
    /// belong to files that a running answer still reads. A key is found here until its last [`FileKey`] is dropped,
    /// even after it was removed from the database.
    lent: Mutex<FxHashMap<KeyId, LentKey>>,
}

#[derive(Clone, Debug, Default)]
struct State {
    kind: Kind,
    store: Option<Arc<KeyStore>>,
}

impl Keys {
    /// Returns the keys of an open lake, which has none.
    pub fn none() -> Keys {
        Keys::default()
    }

    /// Returns the keys of a sealed lake.
    pub fn of(store: KeyStore) -> Keys {
        Keys::of_kind(Kind::Sealed, Some(store))
    }

    /// Returns the keys of a lake of this kind.
    pub(in crate::lake) fn of_kind(kind: Kind, store: Option<KeyStore>) -> Keys {
        let keys = Keys::default();
        keys.turn(kind, store);
        keys
    }

    /// Changes the kind of the lake. `store` is the keys database. If it is `None`, a database that is already open
    /// stays in use. The kind [`Kind::Open`] has no database.
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

    /// Returns the kind of the lake.
    pub fn kind(&self) -> Kind {
        self.state().kind
    }

    /// Whether new files are sealed.
    pub fn seals(&self) -> bool {
        self.kind().seals()
    }

    /// Whether a keys database is open, so that sealed files can be opened.
    pub(in crate::lake) fn open_sealed(&self) -> bool {
        self.store().is_some()
    }

    /// Makes a key for a new file, in memory only. `None` if new files are not sealed.
    pub fn make(&self) -> Result<Option<FileKey>, SealError> {
        let state = self.state();
        if !state.kind.seals() {
            return Ok(None);
        }
        // Fail without a keys database, because a sealed lake accepts no unencrypted file.
        let store = state.store.ok_or(SealError::NoKek)?;
        let key = store.make()?;
        self.lend(&key);
        Ok(Some(key))
    }

    /// Returns the key with this id. The key stays available until the returned value and its clones are dropped, even
    /// if it is destroyed in the database.
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

    /// Stores keys durably. Callers do this before the catalog names the files of these keys.
    pub fn keep(&self, keys: &[FileKey]) -> Result<(), SealError> {
        match self.store() {
            Some(store) => store.keep(keys),
            None if keys.is_empty() => Ok(()),
            // Fail, because the catalog is about to name files whose keys cannot be stored.
            None => Err(SealError::NoKek),
        }
    }

    /// Returns the key with this id, from the keys in use or from the database.
    pub fn key(&self, id: &KeyId) -> Result<FileKey, SealError> {
        if let Some(lent) = self.lent_key(id) {
            return Ok(lent);
        }
        self.store().ok_or(SealError::Unopened(*id))?.key(id)
    }

    fn lent_key(&self, id: &KeyId) -> Option<FileKey> {
        self.lent().get(id).and_then(LentKey::get)
    }

    /// Whether a writer or a running answer holds the key with this id.
    pub(super) fn is_lent(&self, id: &KeyId) -> bool {
        self.lent_key(id).is_some()
    }

    /// Destroys keys. See [`KeyStore::destroy`].
    pub fn destroy(&self, ids: &[KeyId]) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.destroy(ids))
    }

    /// Destroys all keys but `kept` in every registered copy of the database, and adds the keys that a copy lacks.
    /// Fails if a copy cannot be written.
    pub(super) fn retire_in_copies(&self, kept: &BTreeSet<KeyId>) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.retire_in_copies(kept))
    }

    /// Makes a registered copy of the database at `to`, or writes it again. Returns the number of keys.
    pub(in crate::lake) fn make_copy(&self, to: &Path) -> Result<u64, SealError> {
        self.store().ok_or(SealError::NoKek)?.make_copy(to)
    }

    /// Returns the ids of all stored keys.
    pub fn ids(&self) -> Result<Vec<KeyId>, SealError> {
        self.store().map_or_else(|| Ok(Vec::new()), |store| store.ids())
    }

    /// Drops the cached keys if another process has changed the database, because that process may have destroyed keys.
    pub fn refresh(&self) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.refresh())
    }

    /// Makes a keys database in another folder, with all keys or only those in `ids`. Does nothing for an open lake.
    pub(in crate::lake) fn copy_to(&self, folder: &Path, ids: Option<&[KeyId]>) -> Result<(), SealError> {
        self.store().map_or(Ok(()), |store| store.copy_to(folder, ids))
    }

    /// Returns the number of keys in use.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.lent().values().filter(|lent| lent.is_held()).count()
    }
}
