//! Limits the bytes of rows that wait in spools: those of one run, and those of all runs together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::views::error::RunError;

/// The room for waiting rows that several runs share, for example all runs of a server.
#[derive(Debug)]
pub struct SpoolRoom {
    used: AtomicU64,
    /// Bytes of all runs.
    max: u64,
    /// The maximum bytes of one run.
    max_of_one: u64,
}

impl SpoolRoom {
    /// Room for `max` bytes of all runs together, and for `max_of_one` bytes of one run.
    pub fn new(max: u64, max_of_one: u64) -> Arc<SpoolRoom> {
        Arc::new(SpoolRoom {
            used: AtomicU64::new(0),
            max,
            max_of_one,
        })
    }
}

/// The bytes that one run has taken. Dropping this returns them.
#[derive(Debug)]
pub(super) struct Taken {
    /// `None` if there is no limit.
    room: Option<Arc<SpoolRoom>>,
    bytes: u64,
}

impl Taken {
    /// A run without any bytes yet.
    pub(super) fn new(room: Option<Arc<SpoolRoom>>) -> Taken {
        Taken { room, bytes: 0 }
    }

    /// Takes room for this many bytes.
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

    /// Returns room for this many bytes.
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
