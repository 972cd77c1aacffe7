//! When a process may remove files by time.

use std::collections::VecDeque;
use std::time::Duration;

/// The maximum time for which nobody wrote a lake, before a command no longer trusts the clock. It is longer than a
/// week, so that commands that run once a week trust it.
pub const MAX_SILENCE: Duration = Duration::from_secs(8 * 86_400);

/// When the clock may decide that old snapshots and files are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockTrust {
    /// After two looks of this process that agree ([`TwoLooks`](crate::lake::clock::TwoLooks)). For servers.
    TwoLooks,
    /// As `TwoLooks`. Without two such looks, if the clock is not more than [`MAX_SILENCE`] ahead of the newest
    /// snapshot, as it was when the lake was opened. For commands, which run too briefly for two looks: the newest
    /// snapshot has the time of an earlier look.
    #[default]
    NewestSnapshot,
    /// Always, because the operator says that the clock is right.
    Clock,
}

/// Which snapshot was the newest one at which time of the monotonic clock. The times in the catalog do not matter. So
/// snapshots expire even if a wrong clock gave them a time in the future.
#[derive(Debug, Default)]
pub(super) struct Sightings(VecDeque<(u64, Duration)>);

impl Sightings {
    /// Notes the newest snapshot. Returns the last snapshot that was the newest one at least `kept` ago, or 0.
    pub(super) fn note(&mut self, newest: u64, now: Duration, kept: Duration) -> u64 {
        if self.0.back().is_none_or(|(id, _)| *id < newest) {
            self.0.push_back((newest, now));
        }
        let is_old = |at: Duration| now.saturating_sub(at) >= kept;
        while self.0.get(1).is_some_and(|(_, at)| is_old(*at)) {
            self.0.pop_front();
        }
        self.0.front().filter(|(_, at)| is_old(*at)).map_or(0, |(id, _)| *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_counts_when_it_was_seen_long_ago() {
        let (mut seen, kept) = (Sightings::default(), Duration::from_secs(3_660));
        let mut note = |id, seconds| seen.note(id, Duration::from_secs(seconds), kept);
        assert_eq!(note(3, 0), 0);
        assert_eq!(note(4, 1_000), 0);
        assert_eq!(note(4, 3_659), 0);
        assert_eq!(note(5, 3_660), 3);
        assert_eq!(note(5, 4_660), 4);
        assert_eq!(note(5, 7_319), 4);
        assert_eq!(note(5, 7_320), 5);
    }
}
