//! Watches a folder of tables. Each use of the value checks for a new list, but at most once a second.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::folder::{Stamp, TableFolder};
use super::read_once::PAUSE;

/// The minimum time between two checks.
const REFRESH: Duration = Duration::from_secs(1);

/// Computes a value from a folder. The second argument is the former value. It is `None` at the first time.
type Read<T, E> = Box<dyn Fn(&TableFolder, Option<&T>) -> Result<T, E> + Send + Sync>;

/// A value that is computed from a folder of tables. When another process has changed the folder, a thread computes
/// the value again. Until it succeeds, callers get the former value.
#[derive(Debug)]
pub(crate) struct Watched<T, E>(Arc<Shared<T, E>>);

struct Shared<T, E> {
    folder: TableFolder,
    read: Read<T, E>,
    current: RwLock<Arc<T>>,
    seen: Mutex<Seen>,
    reading: AtomicBool,
}

struct Seen {
    /// When the list was last checked.
    at: Instant,
    /// The stamp of the list at the last attempt to read the folder.
    stamp: Option<Stamp>,
    /// The time and the message of the last attempt, if it failed.
    failed: Option<(Instant, String)>,
}

impl<T, E> std::fmt::Debug for Shared<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shared({})", self.folder.path().display())
    }
}

impl<T: Send + Sync + 'static, E: Display + 'static> Watched<T, E> {
    /// Computes the first value, and returns an error if that fails. If a later computation fails, callers get the
    /// former value.
    pub(crate) fn open(
        folder: TableFolder,
        read: impl Fn(&TableFolder, Option<&T>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Watched<T, E>, E> {
        // Read the stamp before the folder. If the list changes between these two steps, its stamp differs, and the
        // next check notices that.
        let stamp = folder.stamp();
        let current = read(&folder, None)?;
        Ok(Watched(Arc::new(Shared {
            folder,
            read: Box::new(read),
            current: RwLock::new(Arc::new(current)),
            seen: Mutex::new(Seen {
                at: Instant::now(),
                stamp,
                failed: None,
            }),
            reading: AtomicBool::new(false),
        })))
    }

    /// Returns the current value. If the folder must be read again, starts a thread that computes the next value.
    pub(crate) fn get(&self) -> Arc<T> {
        if self.0.is_due(Instant::now()) && !self.0.reading.swap(true, Ordering::AcqRel) {
            let shared = self.0.clone();
            let reader = std::thread::Builder::new().name("tables".to_owned());
            if let Err(error) = reader.spawn(move || shared.refresh(Instant::now())) {
                tracing::error!(%error, "no thread to read tables with; it is tried again in a second");
                self.0.reading.store(false, Ordering::Release);
            }
        }
        self.held()
    }

    /// Returns the current value. Does not check whether the list has changed.
    pub(crate) fn held(&self) -> Arc<T> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<T, E: Display> Shared<T, E> {
    /// Whether the folder must be read again: the list has changed, or the last attempt failed at least `PAUSE` ago.
    /// Returns false if the last check was less than `REFRESH` ago.
    fn is_due(&self, now: Instant) -> bool {
        let Ok(mut seen) = self.seen.try_lock() else {
            return false;
        };
        if now.saturating_duration_since(seen.at) < REFRESH {
            return false;
        }
        seen.at = now;
        let is_old = |failed: &(Instant, String)| now.saturating_duration_since(failed.0) >= PAUSE;
        self.folder.stamp() != seen.stamp || seen.failed.as_ref().is_some_and(is_old)
    }

    /// Computes the next value, and makes it the current one if that succeeds.
    fn refresh(&self, now: Instant) {
        let stamp = self.folder.stamp();
        let before = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        let read = (self.read)(&self.folder, Some(&before));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.stamp = stamp;
        match read {
            Ok(next) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
                seen.failed = None;
                tracing::info!(folder = %self.folder.path().display(), "tables read");
            }
            Err(error) => {
                let said = error.to_string();
                if seen.failed.as_ref().is_none_or(|(_, before)| *before != said) {
                    tracing::error!(
                        error = said,
                        "tables beside the lake cannot be read; the earlier ones are kept"
                    );
                }
                seen.failed = Some((now, said));
            }
        }
        drop(seen);
        self.reading.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: when the changed tables could not be read, there was no second attempt until the list changed again.
    #[test]
    fn what_could_not_be_read_is_tried_again_after_a_pause() {
        let data = tempfile::tempdir().unwrap();
        let readable = Arc::new(AtomicBool::new(true));
        let seen = readable.clone();
        let read = move |folder: &TableFolder, _: Option<&u32>| {
            if seen.load(Ordering::Relaxed) {
                Ok(u32::from(folder.list::<serde_json::Value>(1).unwrap().is_some()))
            } else {
                Err("no more files")
            }
        };
        let folder = TableFolder::new(data.path(), "numbers");
        let watched = Watched::open(folder.clone(), read).unwrap();
        let shared = &watched.0;
        assert_eq!(*watched.held(), 0);
        let mut now = Instant::now() + REFRESH;
        assert!(!shared.is_due(now));

        readable.store(false, Ordering::Relaxed);
        folder
            .lock()
            .unwrap()
            .replace(&serde_json::json!({"layout": 1}))
            .unwrap();
        now += REFRESH;
        assert!(shared.is_due(now));
        shared.refresh(now);
        assert_eq!(*watched.held(), 0, "what was there is kept");
        assert!(!shared.is_due(now + PAUSE / 2));
        assert!(shared.is_due(now + PAUSE));
        shared.refresh(now + PAUSE);
        assert!(!shared.is_due(now + PAUSE + REFRESH));
        assert!(shared.is_due(now + PAUSE * 2));
        readable.store(true, Ordering::Relaxed);
        shared.refresh(now + PAUSE * 2);
        assert_eq!(*watched.held(), 1);
        assert!(!shared.is_due(now + PAUSE * 9));
    }
}
