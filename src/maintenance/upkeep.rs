//! Background work of a server for its lake. It opens files before requests need them, merges small files, removes
//! files that no page link needs any more, and drops caches of replaced files.
//!
//! The lake is locked only while files are changed, so that imports can run beside a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lake::compact::{CompactOptions, Compaction, Effort};
use crate::lake::{Lake, LakeError};

/// The interval of checks for new commits.
const COMMIT_POLL: Duration = Duration::from_secs(20);
/// The maximum time between two passes. Even without commits, files may expire in this time.
const AT_LEAST: Duration = Duration::from_secs(600);
/// The pause between two merges, in which other processes can take the lake's lock.
const YIELD: Duration = Duration::from_millis(200);
/// The maximum time that a step of reading ahead waits while requests keep every processor busy.
const PATIENCE: Duration = Duration::from_millis(50);
/// The interval of checks whether the processors are still busy.
const BUSY_POLL: Duration = Duration::from_millis(2);
/// The options for merging files.
const OPTIONS: CompactOptions = CompactOptions::new(Effort::Thrifty);

/// The thread of the upkeep. Dropping this ends the thread after its present step.
pub struct Upkeep {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Upkeep {
    /// Starts the thread. While `busy` returns `true`, a step of reading ahead waits for a short time. Merges and
    /// removals do not wait.
    pub fn start(lake: Lake, busy: impl Fn() -> bool + Send + 'static) -> std::io::Result<Upkeep> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("upkeep".to_owned())
            .spawn(move || run(&lake, &busy, &stopped))?;
        Ok(Upkeep { stop, thread })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        // Do not wait for a merge in progress. If the process ends during a merge, the next writer moves the unfinished
        // files of that merge aside.
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
    }
}

fn run(lake: &Lake, busy: &dyn Fn() -> bool, stop: &AtomicBool) {
    let mut seen = None;
    let mut last = Instant::now();
    let mut failures = 0;
    // At intervals begin a new compaction, which tries unreadable files again and reports them, because somebody may
    // have repaired them.
    let (mut compaction, mut begun) = (Compaction::new(OPTIONS), Instant::now());
    while !stop.load(Ordering::Relaxed) {
        let state = |lake: &Lake| {
            let snapshot = lake.snapshot();
            (snapshot.id, snapshot.erasures())
        };
        let due = seen != Some(state(lake)) && last.elapsed() >= delay(failures);
        if due || last.elapsed() > AT_LEAST {
            warm(lake, busy, stop);
            if begun.elapsed() > AT_LEAST {
                (compaction, begun) = (Compaction::new(OPTIONS), Instant::now());
            }
            match tidy(lake, &mut compaction, stop) {
                Ok(()) => (seen, failures) = (Some(state(lake)), 0),
                Err(LakeError::Busy { .. }) => tracing::debug!("another process is writing; upkeep waits"),
                Err(error) => {
                    failures += 1;
                    tracing::warn!(%error, "upkeep of the lake failed");
                }
            }
            release(lake);
            last = Instant::now();
        }
        std::thread::park_timeout(COMMIT_POLL);
    }
}

/// Returns the wait before the next pass after this many consecutive failures. The wait grows with each failure,
/// because a broken file may stay broken until somebody repairs it.
fn delay(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        failures => AT_LEAST.min(COMMIT_POLL * 2u32.saturating_pow(failures)),
    }
}

/// Reads data ahead, so that the first requests need not wait for it.
fn warm(lake: &Lake, busy: &dyn Fn() -> bool, stop: &AtomicBool) {
    let begun = Instant::now();
    let go_on = || {
        let asked = Instant::now();
        while busy() && asked.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(BUSY_POLL);
        }
        !stop.load(Ordering::Relaxed)
    };
    let erasures = lake.snapshot().erasures();
    match lake.warm(go_on) {
        Ok(done) => {
            let millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            tracing::debug!(files = done.files, row_groups = done.row_groups, millis, "files opened");
        }
        // An erasure has replaced files of this snapshot meanwhile. This is no fault: the next request opens the new
        // files.
        Err(_) if lake.erased_since(erasures) => {}
        Err(error) => tracing::warn!(%error, "a file of the lake could not be opened"),
    }
}

/// Drops caches of replaced files and snapshots, and logs how much stays in memory.
fn release(lake: &Lake) {
    lake.release();
    let kept = lake.memory();
    let (bytes, files, people, rows) = (kept.bytes, kept.files, kept.people, kept.rows);
    tracing::debug!(bytes, files, people, rows, "kept in memory");
}

/// Does one pass: merges files if necessary, then removes expired files.
fn tidy(lake: &Lake, compaction: &mut Compaction, stop: &AtomicBool) -> Result<(), LakeError> {
    loop {
        let mut writer = lake.writer()?;
        let merged = if stop.load(Ordering::Relaxed) {
            None
        } else {
            compaction.step(&mut writer)?
        };
        let Some((mode, type_id, done)) = merged else {
            writer.expire()?;
            return Ok(());
        };
        drop(writer);
        let table = crate::fhir::facts().get(type_id).name;
        let (before, after) = (done.files_before, done.files_after);
        tracing::info!(mode = mode.schema(), table, before, after, "files merged");
        std::thread::park_timeout(YIELD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_longer_after_each_failure() {
        let waits: Vec<u64> = (0..8).map(|failures| delay(failures).as_secs()).collect();
        assert_eq!(waits, [0, 40, 80, 160, 320, 600, 600, 600]);
        assert_eq!(delay(u32::MAX), AT_LEAST);
    }
}
