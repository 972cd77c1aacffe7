//! A table that is read at its first use, and again after a while if that failed.

use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long an unreadable table counts as missing before it is tried again.
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// A value that is read at most once, unless reading fails.
#[derive(Debug)]
pub(crate) struct ReadOnce<T> {
    value: OnceLock<Arc<T>>,
    failure: Mutex<Option<Failure>>,
}

#[derive(Debug)]
struct Failure {
    at: Instant,
    said: String,
}

impl<T> Default for ReadOnce<T> {
    fn default() -> ReadOnce<T> {
        ReadOnce {
            value: OnceLock::new(),
            failure: Mutex::new(None),
        }
    }
}

impl<T> ReadOnce<T> {
    /// The value. `None` if it cannot be read. A reason is logged once, however often it is tried.
    pub(crate) fn get<E: Display>(&self, now: Instant, read: impl FnOnce() -> Result<T, E>) -> Option<Arc<T>> {
        if let Some(value) = self.value.get() {
            return Some(value.clone());
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read it while this one waited.
        if let Some(value) = self.value.get() {
            return Some(value.clone());
        }
        let is_fresh = |failure: &Failure| now.saturating_duration_since(failure.at) < PAUSE;
        if failure.as_ref().is_some_and(is_fresh) {
            return None;
        }
        match read() {
            Ok(value) => {
                if failure.take().is_some() {
                    tracing::info!("a table beside the lake can be read again");
                }
                Some(self.value.get_or_init(|| Arc::new(value)).clone())
            }
            Err(error) => {
                let said = error.to_string();
                if failure.as_ref().is_none_or(|before| before.said != said) {
                    tracing::error!(
                        error = said,
                        "a table beside the lake cannot be read and is taken as not given"
                    );
                }
                *failure = Some(Failure { at: now, said });
                None
            }
        }
    }

    /// Reads the value now, unless it was read before.
    pub(crate) fn read<E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
        if self.value.get().is_none() {
            // Another thread may have been faster. Both have read the same value.
            let _ = self.value.set(Arc::new(read()?));
        }
        Ok(())
    }

    /// Whether the last attempt to read it failed.
    pub(crate) fn has_failed(&self) -> bool {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.get().is_none() && failure.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a table could not be read once, for example because files or memory ran short, it was missing until the
    /// process ended.
    #[test]
    fn what_failed_is_tried_again_after_a_pause() {
        let (once, now) = (ReadOnce::default(), Instant::now());
        let fails = || Err::<u8, _>("no more files");
        assert_eq!(once.get(now, fails), None);
        assert!(once.has_failed());
        let early = || -> Result<u8, &str> { panic!("tried too early") };
        assert_eq!(once.get(now + PAUSE / 2, early), None);
        assert_eq!(once.get(now + PAUSE, fails), None);
        assert_eq!(once.get(now + PAUSE * 3 / 2, early), None, "the pause begins anew");
        let reads = || Ok::<_, &str>(7);
        assert_eq!(once.get(now + PAUSE * 2, reads).as_deref(), Some(&7));
        assert!(!once.has_failed());
        let again = || -> Result<u8, &str> { panic!("read twice") };
        assert_eq!(once.get(now + PAUSE * 9, again).as_deref(), Some(&7));
        assert!(once.read(again).is_ok());
    }
}
