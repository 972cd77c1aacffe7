//! Points in time, and how FHIR writes them. The population's present is a fixed time, so the output does not depend on
//! the day when it is generated.

use std::fmt::{Display, Formatter, Result};

use chrono::{DateTime, Datelike, Timelike, Utc};

/// The number of seconds in a minute. `HOUR` and `DAY` are the numbers of seconds in an hour and in a day.
pub(in crate::sandbox) const MINUTE: i64 = 60;
pub(in crate::sandbox) const HOUR: i64 = 60 * MINUTE;
pub(in crate::sandbox) const DAY: i64 = 24 * HOUR;
/// The number of seconds in a mean year.
pub(in crate::sandbox) const YEAR: i64 = 31_556_952;

/// The present of the population, 2025-12-31T00:00:00Z. People's lives are generated up to this time.
pub(in crate::sandbox) const PRESENT: Moment = Moment(1_767_139_200);

/// A point in time, in seconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sandbox) struct Moment(pub(in crate::sandbox) i64);

/// A time zone, in minutes east of Greenwich.
#[derive(Clone, Copy, Debug)]
pub(in crate::sandbox) struct Zone(pub(in crate::sandbox) i32);

/// A moment as FHIR writes it. Each variant is a precision.
pub(in crate::sandbox) enum Text {
    /// `2019`
    Year(Moment),
    /// `2019-03`
    Month(Moment),
    /// `2019-03-07`
    Day(Moment),
    /// `2019-03-07T08:30:00-05:00`
    Second(Moment, Zone),
    /// `2019-03-07T13:30:00.000Z`. The milliseconds are computed from the seconds, so that they look real.
    Instant(Moment),
}

impl Moment {
    /// Returns the moment `seconds` later.
    pub(in crate::sandbox) fn after(self, seconds: i64) -> Moment {
        Moment(self.0 + seconds)
    }

    /// Returns the number of whole years from this moment until `later`. Each year has the mean length.
    pub(in crate::sandbox) fn years_until(self, later: Moment) -> i64 {
        (later.0 - self.0) / YEAR
    }

    /// Returns midnight of the moment's day in UTC.
    pub(in crate::sandbox) fn day(self) -> Moment {
        Moment(self.0 - self.0.rem_euclid(DAY))
    }

    fn civil(self) -> DateTime<Utc> {
        DateTime::from_timestamp(self.0, 0).unwrap_or_default()
    }
}

impl Display for Text {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match *self {
            Text::Year(moment) => write!(out, "{:04}", moment.civil().year()),
            Text::Month(moment) => {
                let at = moment.civil();
                write!(out, "{:04}-{:02}", at.year(), at.month())
            }
            Text::Day(moment) => {
                let at = moment.civil();
                write!(out, "{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
            }
            Text::Second(moment, zone) => {
                let at = moment.after(i64::from(zone.0) * MINUTE).civil();
                let sign = if zone.0 < 0 { '-' } else { '+' };
                let minutes = zone.0.abs();
                write!(
                    out,
                    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{sign}{:02}:{:02}",
                    at.year(),
                    at.month(),
                    at.day(),
                    at.hour(),
                    at.minute(),
                    at.second(),
                    minutes / 60,
                    minutes % 60
                )
            }
            Text::Instant(moment) => {
                let at = moment.civil();
                write!(
                    out,
                    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                    at.year(),
                    at.month(),
                    at.day(),
                    at.hour(),
                    at.minute(),
                    at.second(),
                    moment.0.rem_euclid(997)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_precision_has_its_text() {
        let moment = PRESENT.after(-1);
        assert_eq!(Text::Day(PRESENT).to_string(), "2025-12-31");
        assert_eq!(
            Text::Second(moment, Zone(-300)).to_string(),
            "2025-12-30T18:59:59-05:00"
        );
        assert_eq!(Text::Second(moment, Zone(330)).to_string(), "2025-12-31T05:29:59+05:30");
        assert_eq!(Text::Month(moment).to_string(), "2025-12");
        assert_eq!(Text::Year(Moment(-YEAR)).to_string(), "1968");
        assert_eq!(moment.day(), PRESENT.after(-DAY));
    }
}
