//! A bounded cache of open file handles, because a lake may have more files than a process may hold open.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use quick_cache::sync::Cache;
use rustc_hash::FxHashMap;

use super::super::error::ScanError;
use crate::lake::seal::{FileKey, Keys, hold_key};
use crate::private;

/// A file that is held open. It stays readable even if it is unlinked and its key is destroyed.
#[derive(Debug)]
pub(in crate::lake::scan) struct HeldHandle {
    /// [`Handles`] finds the file by its path. This field only keeps it open.
    _file: Arc<File>,
    _key: Option<FileKey>,
}

/// A cache of open files by path, and the files that are held open for long answers.
pub(in crate::lake::scan) struct Handles {
    /// The keys of sealed files.
    keys: Keys,
    limit: usize,
    kept: Cache<Arc<Path>, Arc<File>>,
    /// The files that are held open, by path. An entry stays usable after its file was unlinked.
    held: Mutex<FxHashMap<PathBuf, Holding>>,
}

/// The entry of a file that is held open.
struct Holding {
    file: Weak<File>,
    /// Whether the file is unencrypted and was opened while the lake still accepted such files. If so, it stays
    /// readable when the lake is sealed.
    in_clear: bool,
}

impl Handles {
    pub(in crate::lake::scan) fn new(limit: usize, keys: Keys) -> Handles {
        Handles {
            keys,
            limit: limit.max(1),
            kept: Cache::new(limit.max(1)),
            held: Mutex::default(),
        }
    }

    /// Returns the keys of sealed files.
    pub(in crate::lake::scan) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Removes all files from the cache. A file that is held or being read stays open.
    pub(in crate::lake::scan) fn forget(&self) {
        self.kept.clear();
    }

    /// Removes a file from the cache if `keep` returns `false` for its path. A file that is held or being read stays
    /// open. This frees the space of unlinked files, because the file system frees it only when a file is closed.
    pub(in crate::lake::scan) fn retain(&self, keep: impl Fn(&Path) -> bool) {
        self.kept.retain(|path, _| keep(path));
    }

    /// Returns the number of open files in the cache.
    pub(in crate::lake::scan) fn len(&self) -> usize {
        self.kept.len()
    }

    /// Returns an open file from the cache or from the held files, or opens it.
    pub(in crate::lake::scan) fn get(&self, path: &Arc<Path>) -> io::Result<Arc<File>> {
        if let Some(file) = self.kept.get(path) {
            return Ok(file);
        }
        let file = self.held(path).map_or_else(|| private::open(path).map(Arc::new), Ok)?;
        self.kept.insert(path.clone(), file.clone());
        Ok(file)
    }

    /// Holds these files and the keys of sealed ones until the returned handles are dropped. Returns `None` if the
    /// number of all held files would exceed `limit`. In a sealed lake, an unencrypted file is an error unless it was
    /// held before the lake was sealed.
    pub(in crate::lake::scan) fn hold<'p>(
        &self,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<Option<Vec<HeldHandle>>, ScanError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, holding| holding.file.strong_count() > 0);
        let mut files = Vec::new();
        for path in paths {
            let before = held.get(path);
            let is_admitted = before.is_some_and(|before| before.in_clear);
            let known = before.and_then(|before| before.file.upgrade());
            let file = match known.or_else(|| self.kept.get(path)) {
                Some(file) => file,
                None => Arc::new(private::open(path).map_err(|source| ScanError::Io {
                    path: path.to_owned(),
                    source,
                })?),
            };
            let key = hold_key(&file, &self.keys).map_err(|error| ScanError::Io {
                path: path.to_owned(),
                source: io::Error::other(error),
            })?;
            // An unencrypted file stays readable if it was held before the lake was sealed.
            let in_clear = key.is_none() && (is_admitted || self.keys.kind().takes_clear());
            if key.is_none() && !in_clear {
                return Err(ScanError::Io {
                    path: path.to_owned(),
                    source: io::Error::new(io::ErrorKind::InvalidData, "it is not sealed, and the lake is"),
                });
            }
            let holding = Holding {
                file: Arc::downgrade(&file),
                in_clear,
            };
            held.insert(path.to_owned(), holding);
            files.push(HeldHandle { _file: file, _key: key });
            if held.len() > self.limit {
                return Ok(None);
            }
        }
        Ok(Some(files))
    }

    fn held(&self, path: &Path) -> Option<Arc<File>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(path).and_then(|holding| holding.file.upgrade())
    }

    /// Whether the file at `path` is held, is unencrypted, and was opened while the lake still accepted unencrypted
    /// files.
    pub(in crate::lake::scan) fn holds_in_clear(&self, path: &Path) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let holding = held.get(path).filter(|holding| holding.in_clear);
        holding.is_some_and(|holding| holding.file.strong_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_read_after_it_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path: Arc<Path> = folder.path().join("a").into();
        std::fs::write(&path, "text").unwrap();
        let handles = Handles::new(2, Keys::none());
        let held = handles.hold([&*path].into_iter()).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        for _ in 0..2 {
            handles.forget();
            assert!(Arc::ptr_eq(&handles.get(&path).unwrap(), &held[0]._file));
        }
        drop(held);
        handles.forget();
        assert_eq!(handles.get(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_more_are_held_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["a", "b", "c"].map(|name| folder.path().join(name)).into();
        for path in &paths {
            std::fs::write(path, "text").unwrap();
        }
        let handles = Handles::new(2, Keys::none());
        let hold = |range: std::ops::Range<usize>| handles.hold(paths[range].iter().map(PathBuf::as_path)).unwrap();
        assert!(hold(0..3).is_none());
        let first = hold(0..2).unwrap();
        assert!(hold(2..3).is_none() && hold(1..2).is_some());
        drop(first);
        assert!(hold(2..3).is_some());
    }
}
