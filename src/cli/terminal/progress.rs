//! The progress of a command that writes rows, as a line on standard error: rows, megabytes read per second and, if the
//! total is known, a bar.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::columns::grouped;

/// The minimum time between two updates of the number of bytes read.
const TURN: Duration = Duration::from_millis(100);

/// A progress line, or nothing if it would not be seen.
pub(in crate::cli) struct Progress(Option<Line>);

struct Line {
    bar: ProgressBar,
    rows: Arc<AtomicU64>,
    /// The time from which on the number of bytes read may be updated again.
    due: Mutex<Instant>,
}

impl Progress {
    /// Creates a progress line if `shown`. `bytes` is the total number of bytes to read, if known.
    pub(in crate::cli) fn new(shown: bool, bytes: Option<u64>) -> Progress {
        Progress(shown.then(|| {
            let rows = Arc::new(AtomicU64::new(0));
            let bar = match bytes {
                Some(bytes) => ProgressBar::new(bytes),
                None => ProgressBar::no_length(),
            };
            bar.set_style(style(bytes.is_some(), rows.clone()));
            Line {
                bar,
                rows,
                due: Mutex::new(Instant::now()),
            }
        }))
    }

    /// Adds to the number of written rows.
    pub(in crate::cli) fn rows(&self, rows: u64) {
        if let Some(line) = &self.0 {
            line.rows.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Returns a function that adds to the number of bytes read.
    pub(in crate::cli) fn advance(&self) -> impl Fn(u64) + Send + Sync + use<> {
        let bar = self.0.as_ref().map(|line| line.bar.clone());
        move |bytes| {
            if let Some(bar) = &bar {
                bar.inc(bytes);
            }
        }
    }

    /// Sets the number of bytes read. Calls `bytes` only when an update is due.
    pub(in crate::cli) fn read(&self, bytes: impl FnOnce() -> u64) {
        if let Some(line) = &self.0 {
            let now = Instant::now();
            let mut due = line.due.lock().unwrap_or_else(PoisonError::into_inner);
            if *due <= now {
                *due = now + TURN;
                line.bar.set_position(bytes());
            }
        }
    }

    /// Removes the line from the terminal.
    pub(in crate::cli) fn finish(&self) {
        if let Some(line) = &self.0 {
            line.bar.finish_and_clear();
        }
    }
}

/// Returns the style of the line. `bounded` says that the total number of bytes is known.
fn style(bounded: bool, rows: Arc<AtomicU64>) -> ProgressStyle {
    let template = if bounded {
        "{bar:30} {percent:>3}%  {rows} rows  {rate} MB/s  {eta} left"
    } else {
        "{spinner} {rows} rows  {rate} MB/s  {elapsed}"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rows = move |_: &ProgressState, out: &mut dyn Write| {
        // The bar writes to a string, which cannot fail.
        let _ = out.write_str(&grouped(rows.load(Ordering::Relaxed)));
    };
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        let seconds = state.elapsed().as_secs_f64().max(1e-3);
        let _ = write!(out, "{:.1}", state.pos() as f64 / 1e6 / seconds);
    };
    style.with_key("rows", rows).with_key("rate", rate)
}
