//! Watches a folder of tables by a check each second.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::folder::{Stamp, TableFolder};
use super::read_once::PAUSE;

/// How long a change of the list may go unnoticed.
const REFRESH: Duration = Duration::from_secs(1);

/// Computes a folder's new value from the folder and the former value.
type Read<T, E> = Box<dyn Fn(&TableFolder, Option<&T>) -> Result<T, E> + Send + Sync>;

/// The value of a folder. A thread loads the changes of other processes. Until they are read completely, the former
/// value answers.
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
    /// When the list was looked at.
    at: Instant,
    /// The list that was read, or that could not be read.
    stamp: Option<Stamp>,
    /// The time and message of a failed read.
    failed: Option<(Instant, String)>,
}

impl<T, E> std::fmt::Debug for Shared<T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shared({})", self.folder.path().display())
    }
}

impl<T: Send + Sync + 'static, E: Display + 'static> Watched<T, E> {
    /// Reads the folder. The first read returns its errors. Later reads keep the former value.
    pub(crate) fn open(
        folder: TableFolder,
        read: impl Fn(&TableFolder, Option<&T>) -> Result<T, E> + Send + Sync + 'static,
    ) -> Result<Watched<T, E>, E> {
        // Read the stamp first. A later list has another stamp and is noticed.
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

    /// The current value.
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

    /// The value that was read last.
    pub(crate) fn held(&self) -> Arc<T> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<T, E: Display> Shared<T, E> {
    /// Whether there is a change to read. It is checked once a second. A failed read is tried again after a pause.
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

    /// Reads the folder and uses the result if it is complete.
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

    /// Tables that could not be read when they were noticed were not tried again until the list changed once more.
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
