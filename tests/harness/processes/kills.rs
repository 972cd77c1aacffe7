//! Processes that are killed at random moments. `TABULARIUM_KILLS` sets how many rounds such a test has, and
//! `TABULARIUM_SEED` when the kills come.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// How many rounds a test has; the usual number unless another one is set.
pub(crate) fn rounds(usual: usize) -> usize {
    number("TABULARIUM_KILLS").unwrap_or(usual)
}

/// What chance begins with; the usual number unless another one is set.
pub(crate) fn seed(usual: u64) -> u64 {
    number("TABULARIUM_SEED").unwrap_or(usual)
}

/// The moments of a test's kills.
pub(crate) fn chance(usual: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed(usual))
}

fn number<N: std::str::FromStr>(name: &str) -> Option<N> {
    let set = std::env::var(name).ok()?;
    let number = set.parse().ok();
    assert!(number.is_some(), "{name} is no number: {set}");
    number
}

/// Kills a process once it has come so far, and a moment later. `false` where it came to its end before.
pub(crate) fn kill_when(mut child: Child, moment: Duration, mut has_come: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !has_come() && child.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "it neither ends nor goes on"
        );
    }
    let reached = Instant::now();
    while reached.elapsed() < moment {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// How many files there are below a folder in which files come and go.
pub(crate) fn files_seen(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .map(|path| if path.is_dir() { files_seen(&path) } else { 1 })
        .sum()
}
