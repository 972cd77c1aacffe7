//! Limits the bytes of rows that wait in spools: those of one run, and those of all runs together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::views::error::RunError;

/// The common limit on the bytes of rows that wait in spools. Several runs share it, such as all runs of a server.
#[derive(Debug)]
pub struct SpoolRoom {
    used: AtomicU64,
    /// The maximum bytes of all runs together.
    max: u64,
    /// The maximum bytes of one run.
    max_of_one: u64,
}

impl SpoolRoom {
    /// Returns a limit of `max` bytes for all runs together and of `max_of_one` bytes for one run.
    pub fn new(max: u64, max_of_one: u64) -> Arc<SpoolRoom> {
        Arc::new(SpoolRoom {
            used: AtomicU64::new(0),
            max,
            max_of_one,
        })
    }
}

/// The bytes of one run's waiting rows. When this value is dropped, they no longer count against the limit.
#[derive(Debug)]
pub(super) struct Taken {
    /// `None` if there is no limit.
    room: Option<Arc<SpoolRoom>>,
    bytes: u64,
}

impl Taken {
    /// Returns the state of a run without waiting rows.
    pub(super) fn new(room: Option<Arc<SpoolRoom>>) -> Taken {
        Taken { room, bytes: 0 }
    }

    /// Counts bytes of waiting rows. An error if they exceed the limit of the run or the common limit.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), RunError> {
        let bytes = bytes as u64;
        if let Some(room) = &self.room {
            if self.bytes + bytes > room.max_of_one {
                return Err(RunError::TooManySpooled(room.max_of_one));
            }
            if room.used.fetch_add(bytes, Ordering::Relaxed) + bytes > room.max {
                room.used.fetch_sub(bytes, Ordering::Relaxed);
                return Err(RunError::SpoolsFull);
            }
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Stops counting the bytes of rows that no longer wait.
    pub(super) fn remove(&mut self, bytes: usize) {
        let bytes = (bytes as u64).min(self.bytes);
        self.bytes -= bytes;
        if let Some(room) = &self.room {
            room.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_and_all_runs_have_a_limit() {
        let room = SpoolRoom::new(25, 10);
        let take = |bytes| {
            let mut taken = Taken::new(Some(room.clone()));
            taken.add(bytes).map(|()| taken)
        };
        assert!(matches!(take(11), Err(RunError::TooManySpooled(10))));
        let (mut one, two) = (take(10).unwrap(), take(10).unwrap());
        assert!(matches!(one.add(1), Err(RunError::TooManySpooled(10))));
        assert!(matches!(take(10), Err(RunError::SpoolsFull)));
        one.remove(5);
        let three = take(10).unwrap();
        drop((one, two, three));
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
        Taken::new(None).add(usize::MAX >> 1).unwrap();
    }
}
