//! Kills processes at random moments. `TABULARIUM_KILLS` sets the number of rounds of such a test, and
//! `TABULARIUM_SEED` the random seed.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// The number of rounds of a test, `usual` by default.
pub(crate) fn rounds(usual: usize) -> usize {
    number("TABULARIUM_KILLS").unwrap_or(usual)
}

/// The random generator of a test's kills. Prints its seed, which is `usual` by default.
pub(crate) fn chance(usual: u64) -> ChaCha8Rng {
    let seed = number("TABULARIUM_SEED").unwrap_or(usual);
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// The number in an environment variable. `None` if it is not set.
pub(crate) fn number<N: std::str::FromStr>(name: &str) -> Option<N> {
    let set = std::env::var(name).ok()?;
    let number = set.parse().ok();
    assert!(number.is_some(), "{name} is no number: {set}");
    number
}

/// Kills a process a moment after it reached a point. `false` if it ended before.
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

/// The number of files below a folder, while files are created and removed.
pub(crate) fn files_seen(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .map(|path| if path.is_dir() { files_seen(&path) } else { 1 })
        .sum()
}
