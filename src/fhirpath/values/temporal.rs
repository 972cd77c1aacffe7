//! Compares dates and times of different precision. The result is before, after, the same, or unknown because a part
//! is missing.

use std::cmp::Ordering;

use super::super::compile::types::System;
use crate::fhir::temporal::{Precision, Temporal, TimeOfDay};

/// The maximum difference between a local time and UTC, in microseconds. A time without a zone may differ from the same
/// time in UTC by this much, in both directions.
const ZONE_SPREAD: i64 = 14 * 3600 * 1_000_000;

/// A parsed date, dateTime or time.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) struct Moment {
    precision: Precision,
    /// Whether the text has a time zone. `None` for a time of day, which cannot have one.
    zoned: Option<bool>,
    start: i64,
    end: i64,
}

/// Whether a text is a valid value of this type.
pub(in crate::fhirpath) fn is_valid(system: System, text: &str) -> bool {
    Moment::parse(system, text).is_some()
}

impl Moment {
    /// Parses a text of this type. A dateTime may end in `T` without a time, as in literals of partial dateTimes.
    pub(in crate::fhirpath) fn parse(system: System, text: &str) -> Option<Moment> {
        match system {
            System::Time => {
                let time = TimeOfDay::parse(text).ok()?;
                Some(Moment {
                    precision: time.precision,
                    zoned: None,
                    start: time.start,
                    end: time.end,
                })
            }
            System::Date => Some(Moment::of(Temporal::date(text).ok()?)),
            System::DateTime => Some(Moment::of(
                Temporal::date_time(text.strip_suffix('T').unwrap_or(text)).ok()?,
            )),
            _ => None,
        }
    }

    fn of(temporal: Temporal) -> Moment {
        let zoned = Some(temporal.zone.is_some());
        Moment {
            precision: temporal.precision,
            zoned,
            start: temporal.start,
            end: temporal.end,
        }
    }

    /// Returns the first microsecond of the moment.
    pub(in crate::fhirpath) fn start(&self) -> i64 {
        self.start
    }

    /// Returns the class of a moment. Moments are equivalent if they have the same class.
    pub(in crate::fhirpath) fn class(&self) -> (Precision, i64, Option<bool>) {
        let timed = self.grain() > Precision::Day;
        (self.grain(), self.start, self.zoned.map(|zoned| zoned && timed))
    }

    /// Returns the precision. Seconds and fractions of seconds count as one precision.
    fn grain(&self) -> Precision {
        self.precision.min(Precision::Second)
    }

    /// Returns the order of two moments. `None` if a missing part leaves the order unknown, or if only one of the two
    /// is a time of day.
    pub(in crate::fhirpath) fn compare(&self, other: &Moment) -> Option<Ordering> {
        let spread = match (self.zoned, other.zoned) {
            (None, None) => 0,
            (Some(left), Some(right)) => {
                let timed = self.grain() > Precision::Day && other.grain() > Precision::Day;
                if left != right && timed { ZONE_SPREAD } else { 0 }
            }
            _ => return None,
        };
        if self.grain() == other.grain() && spread == 0 {
            return Some(self.start.cmp(&other.start));
        }
        if self.end + spread <= other.start {
            return Some(Ordering::Less);
        }
        if other.end + spread <= self.start {
            return Some(Ordering::Greater);
        }
        None
    }

    /// Whether two moments are equal. If their precision differs, they are unequal if one is certainly before the
    /// other, and otherwise the result is `None`, unknown. A time of day is never equal to a date.
    pub(in crate::fhirpath) fn equals(&self, other: &Moment) -> Option<bool> {
        match (self.zoned, other.zoned) {
            (None, Some(_)) | (Some(_), None) => Some(false),
            _ => self.compare(other).map(|order| order == Ordering::Equal),
        }
    }

    /// Whether two moments are equal and of the same precision. `false` if their equality is unknown.
    pub(in crate::fhirpath) fn equivalent(&self, other: &Moment) -> bool {
        self.grain() == other.grain() && self.equals(other) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(left: &str, right: &str) -> Option<Ordering> {
        let moment = |text| Moment::parse(System::DateTime, text).unwrap();
        moment(left).compare(&moment(right))
    }

    #[test]
    fn precision_decides_what_can_be_told() {
        assert_eq!(compare("2012", "2013-01"), Some(Ordering::Less));
        assert_eq!(compare("2012", "2012-01"), None);
        assert_eq!(compare("2012-01", "2012-01"), Some(Ordering::Equal));
        assert_eq!(
            compare("2012-04-15T10:00:00Z", "2012-04-15T12:00:00+02:00"),
            Some(Ordering::Equal)
        );
        assert_eq!(
            compare("2012-04-15T10:00:00.5Z", "2012-04-15T10:00:00Z"),
            Some(Ordering::Greater)
        );
    }

    #[test]
    fn a_missing_zone_leaves_hours_open() {
        assert_eq!(compare("2012-04-15T10:00:00", "2012-04-15T12:00:00Z"), None);
        assert_eq!(
            compare("2012-04-15T10:00:00", "2012-04-17T12:00:00Z"),
            Some(Ordering::Less)
        );
    }
}
