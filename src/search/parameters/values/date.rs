//! Date values: a partial date or dateTime with a prefix, as an interval.

use super::spans::Spans;
use super::{Interval, Prefix};
use crate::fhir::temporal::Temporal;

/// The value of a date parameter, with its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateValue {
    /// The prefix.
    pub prefix: Prefix,
    /// The interval of the date, in microseconds since 1970 (UTC). For [`Prefix::Ap`], it is already widened.
    pub interval: Interval<i64>,
}

impl DateValue {
    /// Parses one alternative of a date parameter. For `ap`, the interval is widened at both ends by a tenth of the
    /// time between its start and `now_us`. A blank before a time zone counts as a plus sign, because clients forget to
    /// encode it.
    pub(crate) fn parse(text: &str, now_us: i64) -> Option<DateValue> {
        let (prefix, text) = Prefix::split(text);
        // An hour without minutes is not allowed (R4 search, 3.1.1.4.7).
        let is_hour_alone = |(_, time): (&str, &str)| time.as_bytes().get(2) != Some(&b':');
        if text.split_once('T').is_some_and(is_hour_alone) {
            return None;
        }
        let parsed = if text.contains(' ') {
            Temporal::date_time(&text.replace(' ', "+")).ok()?
        } else {
            Temporal::date_time(text).ok()?
        };
        let mut interval = Interval {
            start: parsed.start,
            end: parsed.end,
        };
        if prefix == Prefix::Ap {
            let gap = (now_us.saturating_sub(interval.start)).saturating_abs() / 10;
            interval = Interval {
                start: interval.start.saturating_sub(gap),
                end: interval.end.saturating_add(gap),
            };
        }
        Some(DateValue { prefix, interval })
    }

    /// Whether the interval of a resource's value matches.
    pub(crate) fn matches(&self, target: Interval<i64>) -> bool {
        self.interval.matches(self.prefix, target)
    }
}

/// A set of many dates with their prefixes. A value of a resource matches if it matches one of them. It is compared
/// with all of them at once.
#[derive(Clone, Debug)]
pub(crate) struct DateSet {
    values: Vec<DateValue>,
    equal: Spans<i64>,
    approximate: Spans<i64>,
    /// For `ne`: the latest start and the earliest end of the intervals. A value that starts before this start or ends
    /// after this end is not inside all of the intervals, so it matches.
    unequal: Option<(i64, i64)>,
    /// For `gt` and `ge`: the earliest end of the intervals. A value that ends after it matches.
    ends_behind: Option<i64>,
    /// For `lt` and `le`: the latest start of the intervals. A value that starts before it matches.
    starts_before: Option<i64>,
    /// For `sa`: the earliest end of the intervals. A value that starts at or after it matches.
    lies_behind: Option<i64>,
    /// For `eb`: the latest start of the intervals. A value that ends at or before it matches.
    lies_before: Option<i64>,
}

impl DateSet {
    /// Creates a set of these dates.
    pub(crate) fn of(values: Vec<DateValue>) -> DateSet {
        let of = |prefixes: &[Prefix]| -> Vec<Interval<i64>> {
            let asked = values.iter().filter(|value| prefixes.contains(&value.prefix));
            asked.map(|value| value.interval).collect()
        };
        let pairs = |intervals: Vec<Interval<i64>>| intervals.iter().map(|of| (of.start, of.end)).collect();
        let start = |prefixes: &[Prefix]| of(prefixes).iter().map(|of| of.start).max();
        let end = |prefixes: &[Prefix]| of(prefixes).iter().map(|of| of.end).min();
        DateSet {
            equal: Spans::of(pairs(of(&[Prefix::Eq, Prefix::Ge, Prefix::Le]))),
            approximate: Spans::of(pairs(of(&[Prefix::Ap]))),
            unequal: start(&[Prefix::Ne]).zip(end(&[Prefix::Ne])),
            ends_behind: end(&[Prefix::Gt, Prefix::Ge]),
            starts_before: start(&[Prefix::Lt, Prefix::Le]),
            lies_behind: end(&[Prefix::Sa]),
            lies_before: start(&[Prefix::Eb]),
            values,
        }
    }

    /// Returns the dates of the set.
    pub(crate) fn values(&self) -> &[DateValue] {
        &self.values
    }

    /// Whether the interval of a resource's value matches one of the dates.
    pub(crate) fn matches(&self, target: Interval<i64>) -> bool {
        let Interval { start, end } = target;
        self.equal.contain(start, end)
            || self.approximate.overlap(start, end)
            || self.unequal.is_some_and(|(from, to)| start < from || end > to)
            || self.ends_behind.is_some_and(|bound| end > bound)
            || self.starts_before.is_some_and(|bound| start < bound)
            || self.lies_behind.is_some_and(|bound| start >= bound)
            || self.lies_before.is_some_and(|bound| end <= bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_finds_what_its_dates_find_one_by_one() {
        use Prefix::*;
        let prefixes = [Eq, Ne, Gt, Lt, Ge, Le, Sa, Eb, Ap];
        let interval = |at: usize| Interval {
            start: (at * 7 % 20) as i64,
            end: (at * 7 % 20 + 1 + at * 3 % 5) as i64,
        };
        for chosen in 0..1 << prefixes.len() {
            let some = (0..prefixes.len()).filter(|at| chosen & (1 << at) != 0);
            let values = some.flat_map(|at| [at, at + 9, at + 31].map(|place| (prefixes[at], interval(place))));
            let values: Vec<DateValue> = values
                .map(|(prefix, interval)| DateValue { prefix, interval })
                .collect();
            let set = DateSet::of(values.clone());
            for target in (0..40).map(interval) {
                let expected = values.iter().any(|value| value.matches(target));
                assert_eq!(set.matches(target), expected, "{target:?} {values:?}");
            }
        }
    }

    fn length(text: &str) -> Option<i64> {
        let value = DateValue::parse(text, 0)?;
        Some((value.interval.end - value.interval.start) / 1_000_000)
    }

    #[test]
    fn every_precision() {
        assert_eq!(length("2024-05-01"), Some(86_400));
        assert_eq!(length("ge2024-05-01T10:00:00Z"), Some(1));
        assert_eq!(length("2024-05-01T10:00Z"), Some(60));
        assert_eq!(length("2024-05-01T10:00:00 02:00"), Some(1));
        assert_eq!(length("2024-13"), None);
        assert_eq!(length("2024-05-01T10"), None);
        assert_eq!(length("2024-05-01T10+02:00"), None);
        assert_eq!(length("yesterday"), None);
        assert_eq!(length("ä024-05-01T10:0ä"), None);
        assert_eq!(length(""), None);
    }
}
