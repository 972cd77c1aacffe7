//! A value that is read when it is first used. If reading fails, a later use tries again after a pause.

use std::fmt::Display;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The minimum time between a failed attempt and the next attempt.
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// A value that is read at its first use.
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
    /// Returns the value, and reads it if that was not done yet. `None` if reading fails, or failed less than [`PAUSE`]
    /// ago. If the same error occurs several times in a row, only the first occurrence is logged.
    pub(crate) fn get<E: Display>(&self, now: Instant, read: impl FnOnce() -> Result<T, E>) -> Option<Arc<T>> {
        if let Some(value) = self.value.get() {
            return Some(value.clone());
        }
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read the value while this one waited for the lock.
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

    /// Reads the value now if that was not done yet. Ignores the pause after a failure.
    pub(crate) fn read<E>(&self, read: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
        if self.value.get().is_none() {
            // If another thread was faster, keep its value, which is the same.
            let _ = self.value.set(Arc::new(read()?));
        }
        Ok(())
    }

    /// Whether the last attempt to read the value failed.
    pub(crate) fn has_failed(&self) -> bool {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.get().is_none() && failure.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: after one failed attempt, the table was missing until the process ended. But reading may fail only
    /// for a short time, for example because too many files are open.
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
