//! Compares dates and times that may be partial. The result is before, after, the same, or unknown because a part is
//! missing.

use std::cmp::Ordering;

use super::super::compile::types::System;
use crate::fhir::temporal::{Precision, Temporal, TimeOfDay};

/// The maximum distance of a local time from UTC, in microseconds. A time without a zone is uncertain by this much.
const ZONE_SPREAD: i64 = 14 * 3600 * 1_000_000;

/// A parsed date, dateTime or time.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) struct Moment {
    precision: Precision,
    /// `None` for a time of day. Otherwise whether there is a zone.
    zoned: Option<bool>,
    start: i64,
    end: i64,
}

/// Whether a text is a value of this type.
pub(in crate::fhirpath) fn is_valid(system: System, text: &str) -> bool {
    Moment::parse(system, text).is_some()
}

impl Moment {
    /// Parses a text of this type. A dateTime may end in a bare `T`, as partial literals do.
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

    /// Its first microsecond.
    pub(in crate::fhirpath) fn start(&self) -> i64 {
        self.start
    }

    /// The class of a moment. Moments with the same class are equivalent.
    pub(in crate::fhirpath) fn class(&self) -> (Precision, i64, Option<bool>) {
        let timed = self.grain() > Precision::Day;
        (self.grain(), self.start, self.zoned.map(|zoned| zoned && timed))
    }

    /// Seconds and decimals of seconds count as one precision.
    fn grain(&self) -> Precision {
        self.precision.min(Precision::Second)
    }

    /// The order of two moments, if their parts decide it. `None` also for a date and a time of day.
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

    /// Equality. Moments of different precision are unequal if they contradict each other. Otherwise their equality is
    /// unknown.
    pub(in crate::fhirpath) fn equals(&self, other: &Moment) -> Option<bool> {
        match (self.zoned, other.zoned) {
            (None, Some(_)) | (Some(_), None) => Some(false),
            _ => self.compare(other).map(|order| order == Ordering::Equal),
        }
    }

    /// Equivalence: equal and of the same precision. False if unknown.
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
