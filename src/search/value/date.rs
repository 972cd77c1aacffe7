//! Date values: a partial date or dateTime with a prefix, as the interval it stands for.

use super::{Interval, Prefix};
use crate::fhir::temporal::Temporal;

/// A date to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateValue {
    /// The relation asked for.
    pub prefix: Prefix,
    /// What the text stands for, in microseconds UTC; widened already for [`Prefix::Ap`].
    pub interval: Interval<i64>,
}

impl DateValue {
    /// Parses one alternative of a date parameter; `now_us` is what "approximately" is measured from. A blank where a zone's
    /// plus sign belongs is taken for the plus sign: clients forget to encode it.
    pub(crate) fn parse(text: &str, now_us: i64) -> Option<DateValue> {
        let (prefix, text) = Prefix::split(text);
        // An hour comes with its minutes (R4 search, 3.1.1.4.7).
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

    /// Whether a value of a resource stands in the relation asked for.
    pub(crate) fn matches(&self, target: Interval<i64>) -> bool {
        self.interval.matches(self.prefix, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
