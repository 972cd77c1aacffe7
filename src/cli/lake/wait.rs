//! Takes the writer lock of a lake for a command. The command waits a while if another process holds the lock.

use std::path::Path;
use std::time::{Duration, Instant};

use super::super::terminal::failure::{Failure, warn};
use super::super::terminal::manner::is_quiet;
use crate::lake::{Lake, LakeError, LakeOptions, LakeWriter};

/// The delay between attempts to lock the lake. Between two merges a server releases the lock for 200 ms. The delay is
/// shorter, so that the command can lock the lake during this time.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long to wait.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cli) struct Wait {
    /// Seconds to wait while another process writes the lake
    #[arg(long = "wait", value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
}

/// Returns the sentence about a lake whose newest snapshot is ahead of the clock.
pub(in crate::cli) fn ahead_of_clock(ahead: Duration) -> String {
    let ahead = span(ahead);
    format!(
        "the lake's newest snapshot is {ahead} ahead of this machine's clock: set the clock or, if the clock is right, \
         run `tabularium check --mend-times`"
    )
}

/// Returns a duration in the largest unit of which it has two or more.
pub(in crate::cli) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let fits = units.into_iter().find(|(size, _)| seconds >= 2 * size);
    let (size, unit) = fits.unwrap_or((1, "seconds"));
    format!("{} {unit}", seconds / size)
}

impl Default for Wait {
    fn default() -> Wait {
        Wait { seconds: 60 }
    }
}

impl Wait {
    /// Takes the writer lock. Fails with exit code 1 if another process still holds it after the wait. Warns if the
    /// lake is ahead of the clock.
    pub(in crate::cli) fn writer(self, lake: &Lake) -> Result<LakeWriter, Failure> {
        let writer = self.until_free(|| lake.writer())?;
        if let Some(ahead) = lake.ahead() {
            warn(&ahead_of_clock(ahead));
        }
        Ok(writer)
    }

    /// Opens the lake in a folder. If there is none, creates one with `options`.
    pub(in crate::cli) fn open_or_create(self, data: &Path, options: &LakeOptions) -> Result<Lake, Failure> {
        self.until_free(|| Lake::open_or_create_with(data, options.clone()))
    }

    /// Repeats `attempt` while another process writes the lake, for at most `seconds`. Before the first repetition,
    /// prints a line with the reason for the wait, unless the program is quiet.
    pub(in crate::cli) fn until_free<T>(self, mut attempt: impl FnMut() -> Result<T, LakeError>) -> Result<T, Failure> {
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            let error = match attempt() {
                Err(error @ LakeError::Busy { .. }) => error,
                done => return done.map_err(Failure::from_lake),
            };
            if begun.elapsed() >= Duration::from_secs(self.seconds) {
                return Err(Failure::other(format!(
                    "nothing was done, because {error}; waited for {} seconds",
                    self.seconds
                )));
            }
            if !is_told && !is_quiet() {
                eprintln!("tabularium: waiting up to {} seconds, because {error}", self.seconds);
                is_told = true;
            }
            std::thread::sleep(RETRY_DELAY);
        }
    }
}
