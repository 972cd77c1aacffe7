//! The results of requests: latencies, counts, errors.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// The minimum latency that the histogram distinguishes, in nanoseconds. `LONGEST` is the maximum. A latency outside of
/// this range counts as the nearer limit.
const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 3_600_000_000_000;
/// The number of significant digits of latencies.
const DIGITS: u8 = 3;

/// The results of requests.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Tally {
    /// Latencies of good answers, in nanoseconds.
    latencies: Histogram<u64>,
    pub(in crate::bench) bytes: u64,
    pub(in crate::bench) errors: BTreeMap<String, Failures>,
    pub(in crate::bench) walks: Walks,
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::bench) struct Failures {
    pub(in crate::bench) count: u64,
    /// The message of the first error.
    pub(in crate::bench) message: String,
}

/// The results of walks over pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::bench) struct Walks {
    /// How long the server took for the first page and for the last page, for each complete walk.
    pub(in crate::bench) ends: Vec<(Duration, Duration)>,
    pub(in crate::bench) resources: u64,
    /// The number of resources per second. Of each client, only the time counts in which a request was running.
    /// `Tally::add` adds the rates of the clients.
    pub(in crate::bench) rate: f64,
}

impl Tally {
    /// Creates a tally without results.
    pub(in crate::bench) fn new() -> Result<Tally, hdrhistogram::CreationError> {
        Ok(Tally {
            latencies: Histogram::new_with_bounds(SHORTEST, LONGEST, DIGITS)?,
            bytes: 0,
            errors: BTreeMap::new(),
            walks: Walks::default(),
        })
    }

    /// Counts a good answer.
    pub(in crate::bench) fn good(&mut self, took: Duration, bytes: u64) {
        self.latencies
            .saturating_record(u64::try_from(took.as_nanos()).unwrap_or(LONGEST));
        self.bytes += bytes;
    }

    /// Counts a request without a good answer.
    pub(in crate::bench) fn bad(&mut self, sort: String, message: impl FnOnce() -> String) {
        let failures = self.errors.entry(sort).or_insert_with(|| Failures {
            count: 0,
            message: message(),
        });
        failures.count += 1;
    }

    /// Adds the results of another tally.
    pub(in crate::bench) fn add(&mut self, other: Tally) {
        self.latencies += other.latencies;
        self.bytes += other.bytes;
        for (sort, failures) in other.errors {
            let count = failures.count;
            self.errors
                .entry(sort)
                .and_modify(|ours| ours.count += count)
                .or_insert(failures);
        }
        self.walks.ends.extend(other.walks.ends);
        self.walks.resources += other.walks.resources;
        self.walks.rate += other.walks.rate;
    }

    /// Returns the number of good answers.
    pub(in crate::bench) fn answers(&self) -> u64 {
        self.latencies.len()
    }

    /// Whether the server refuses the token: it answered 401 and gave no good answer. Then more requests are useless.
    pub(in crate::bench) fn is_shut_out(&self) -> bool {
        self.answers() == 0 && self.errors.contains_key("401")
    }

    /// Returns the number of requests without a good answer.
    pub(in crate::bench) fn failed(&self) -> u64 {
        self.errors.values().map(|failures| failures.count).sum()
    }

    /// Returns the latency that this fraction of the answers did not exceed, in milliseconds. 0 if there are no
    /// answers.
    pub(in crate::bench) fn quantile(&self, part: f64) -> f64 {
        if self.latencies.is_empty() {
            return 0.0;
        }
        milliseconds(self.latencies.value_at_quantile(part))
    }

    /// Returns the mean latency in milliseconds. 0 if there are no answers.
    pub(in crate::bench) fn mean(&self) -> f64 {
        if self.latencies.is_empty() {
            0.0
        } else {
            self.latencies.mean() / 1e6
        }
    }
}

impl Walks {
    /// Returns the median time for the first page of a walk, and for the last page, in milliseconds. `None` if no walk
    /// is complete.
    pub(in crate::bench) fn medians(&self) -> Option<(f64, f64)> {
        let median = |of: fn(&(Duration, Duration)) -> Duration| {
            let mut times: Vec<Duration> = self.ends.iter().map(of).collect();
            times.sort_unstable();
            times.get(times.len() / 2).map(|time| time.as_secs_f64() * 1e3)
        };
        median(|ends| ends.0).zip(median(|ends| ends.1))
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= expected / 500.0,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn percentiles_are_those_of_all_answers_together() {
        let mut all = Tally::new().unwrap();
        for client in 0..4 {
            let mut tally = Tally::new().unwrap();
            for at in (client..1000).step_by(4) {
                tally.good(Duration::from_micros(10 * (at + 1)), 3);
            }
            all.add(tally);
        }
        assert_eq!((all.answers(), all.bytes, all.failed()), (1000, 3000, 0));
        for (part, milliseconds) in [(0.5, 5.0), (0.9, 9.0), (0.99, 9.9), (0.999, 9.99), (1.0, 10.0)] {
            near(all.quantile(part), milliseconds);
        }
        near(all.mean(), 5.005);
    }

    #[test]
    fn nothing_has_no_latency_and_extremes_are_kept_at_the_bounds() {
        let mut tally = Tally::new().unwrap();
        assert_eq!((tally.quantile(0.5), tally.mean()), (0.0, 0.0));
        tally.good(Duration::ZERO, 0);
        assert!(tally.quantile(1.0) <= 0.001);
        tally.good(Duration::from_secs(1_000_000), 0);
        near(tally.quantile(1.0), 3.6e6);
    }

    #[test]
    fn errors_are_counted_by_sort_with_the_first_message() {
        let (mut one, mut other) = (Tally::new().unwrap(), Tally::new().unwrap());
        one.bad("404".to_owned(), || "first".to_owned());
        one.bad("404".to_owned(), || "second".to_owned());
        other.bad("404".to_owned(), || "third".to_owned());
        other.bad("500".to_owned(), || "fourth".to_owned());
        one.add(other);
        assert_eq!(one.failed(), 4);
        assert_eq!(
            (one.errors["404"].count, one.errors["404"].message.as_str()),
            (3, "first")
        );
        assert_eq!(one.errors["500"].count, 1);
    }

    #[test]
    fn walks_have_the_medians_of_their_ends() {
        let milliseconds = Duration::from_millis;
        let mut walks = Walks::default();
        assert_eq!(walks.medians(), None);
        walks.ends = vec![
            (milliseconds(3), milliseconds(9)),
            (milliseconds(1), milliseconds(7)),
            (milliseconds(2), milliseconds(8)),
        ];
        assert_eq!(walks.medians(), Some((2.0, 8.0)));
    }
}
