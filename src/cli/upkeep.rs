//! Tidying a served lake up in the background: small files are merged, files that no page link needs any more go.
//!
//! The lake is locked only while something is done, so that imports can go on beside a running server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lake::compact::{self, CompactOptions, Effort};
use crate::lake::{Lake, LakeError};

/// How often it is asked whether anything was committed.
const LOOK: Duration = Duration::from_secs(20);
/// Without commits there may still be expired files to remove.
const AT_LEAST: Duration = Duration::from_secs(600);

/// The running upkeep. It begins nothing new once dropped.
pub(super) struct Upkeep {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Upkeep {
    /// Starts a thread of low urgency.
    pub(super) fn start(lake: Lake) -> std::io::Result<Upkeep> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("upkeep".to_owned())
            .spawn(move || run(&lake, &stopped))?;
        Ok(Upkeep { stop, thread })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        // What is half merged is not waited for: the next writer removes it.
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
    }
}

fn run(lake: &Lake, stop: &AtomicBool) {
    let mut seen = None;
    let mut last = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let state = |lake: &Lake| {
            let picture = lake.picture();
            (picture.snapshot, picture.erasures())
        };
        if seen != Some(state(lake)) || last.elapsed() > AT_LEAST {
            match tidy(lake, stop) {
                Ok(()) => seen = Some(state(lake)),
                Err(LakeError::Busy { .. }) => tracing::debug!("another process is writing; upkeep waits"),
                Err(error) => tracing::warn!(%error, "upkeep of the lake failed"),
            }
            last = Instant::now();
        }
        std::thread::park_timeout(LOOK);
    }
}

/// One pass: merges what is overdue, then lets go of what has expired.
fn tidy(lake: &Lake, stop: &AtomicBool) -> Result<(), LakeError> {
    let mut writer = lake.writer()?;
    let options = CompactOptions::new(Effort::Thrifty);
    while !stop.load(Ordering::Relaxed) {
        let Some((mode, ty, done)) = compact::step(&mut writer, &options)? else {
            break;
        };
        let table = crate::fhir::facts().get(ty).name;
        let (before, after) = (done.files_before, done.files_after);
        tracing::info!(mode = mode.schema(), table, before, after, "files merged");
    }
    writer.expire()?;
    Ok(())
}
