//! Parses dates and times in R4's form into a precision, a zone and an interval.
//!
//! A text means a half-open interval: `2024-02` is all of that February. Bounds are UTC microseconds, and a text
//! without a zone counts as UTC. Digits beyond microseconds are truncated. A text of another form, or a day that does
//! not exist, is an error. Higher modules compare values.

use std::fmt::Write;

/// The precision of a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Precision {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    /// A fraction of a second, with any number of decimals.
    Fraction,
}

/// A date, or a date with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Temporal {
    /// The precision of the text.
    pub precision: Precision,
    /// The zone, in minutes east of UTC. `None` if the text has no zone.
    pub zone: Option<i16>,
    /// The first moment of the interval, in microseconds since 1970-01-01T00:00:00Z.
    pub start: i64,
    /// The first moment after the interval, in microseconds since 1970-01-01T00:00:00Z.
    pub end: i64,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    /// The precision of the text: an hour or finer.
    pub precision: Precision,
    /// The first moment of the interval, in microseconds since midnight.
    pub start: i64,
    /// The first moment after the interval, in microseconds since midnight.
    pub end: i64,
}

/// Why a text is no date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum TemporalError {
    #[error("not of the form YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss with a zone")]
    Form,
    #[error("the year is not from 0001 to 9999")]
    Year,
    #[error("the month is not from 01 to 12")]
    Month,
    #[error("the month has no such day")]
    Day,
    #[error("the hour is not from 00 to 23")]
    Hour,
    #[error("the minute is not from 00 to 59")]
    Minute,
    #[error("the second is not from 00 to 60")]
    Second,
    #[error("the zone is neither Z nor from -14:00 to +14:00")]
    Zone,
    #[error("an instant is given to the second, with a zone")]
    Instant,
}

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

impl Temporal {
    /// Parses a date: `2024`, `2024-02` or `2024-02-29`.
    pub fn date(text: &str) -> Result<Temporal, TemporalError> {
        let mut cursor = Cursor(text.as_bytes());
        let date = cursor.date()?;
        cursor.finish()?;
        Ok(date)
    }

    /// Parses a date, or a date with a time to the hour, minute, second or fraction of a second, with or without a
    /// zone. R4's dateTime requires seconds and a zone with every time. This function does not require them, because
    /// some records and queries lack them.
    pub fn date_time(text: &str) -> Result<Temporal, TemporalError> {
        let mut cursor = Cursor(text.as_bytes());
        let date = cursor.date()?;
        if cursor.0.is_empty() {
            return Ok(date);
        }
        if date.precision != Precision::Day || !cursor.take(b'T') {
            return Err(TemporalError::Form);
        }
        let time = cursor.time()?;
        let zone = cursor.zone()?;
        cursor.finish()?;
        let midnight = date.start - i64::from(zone.unwrap_or(0)) * MINUTE;
        Ok(Temporal {
            precision: time.precision,
            zone,
            start: midnight + time.start,
            end: midnight + time.end,
        })
    }

    /// Parses an instant: a date with a time at least to the second, and a zone.
    pub fn instant(text: &str) -> Result<Temporal, TemporalError> {
        let instant = Temporal::date_time(text)?;
        if instant.precision < Precision::Second || instant.zone.is_none() {
            return Err(TemporalError::Instant);
        }
        Ok(instant)
    }

    /// Whether the text has a zone.
    pub fn has_zone(&self) -> bool {
        self.zone.is_some()
    }
}

impl TimeOfDay {
    /// Parses a time: `14`, `14:30`, `14:30:00` or `14:30:00.25`. The times of R4 always have seconds. The times of
    /// FHIRPath can lack them.
    pub fn parse(text: &str) -> Result<TimeOfDay, TemporalError> {
        let mut cursor = Cursor(text.as_bytes());
        let time = cursor.time()?;
        cursor.finish()?;
        Ok(time)
    }
}

/// Returns a moment as an R4 instant in UTC, with milliseconds, or with microseconds if necessary. `micros` is the
/// number of microseconds since 1970. `None` outside the years 0001 to 9999.
pub fn instant_text(micros: i64) -> Option<String> {
    let (year, month, day) = civil_of_days(micros.div_euclid(DAY));
    if !(1..=9999).contains(&year) {
        return None;
    }
    let time = micros.rem_euclid(DAY);
    let (hour, minute, second, fraction) = (time / HOUR, time / MINUTE % 60, time / SECOND % 60, time % SECOND);
    let mut text = String::with_capacity(27);
    let head = write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let tail = match fraction % 1000 {
        0 => write!(text, ".{:03}Z", fraction / 1000),
        _ => write!(text, ".{fraction:06}Z"),
    };
    head.and(tail).ok().map(|()| text)
}

/// The part of a text that is not parsed yet.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn date(&mut self) -> Result<Temporal, TemporalError> {
        let year = i64::from(self.digits(4)?);
        if year == 0 {
            return Err(TemporalError::Year);
        }
        let date = |precision, first, end| Temporal {
            precision,
            zone: None,
            start: first * DAY,
            end: end * DAY,
        };
        if !self.take(b'-') {
            return Ok(date(
                Precision::Year,
                days_of_civil(year, 1, 1),
                days_of_civil(year + 1, 1, 1),
            ));
        }
        let month = i64::from(self.digits(2)?);
        if !(1..=12).contains(&month) {
            return Err(TemporalError::Month);
        }
        let first = days_of_civil(year, month, 1);
        let days = days_of_month(year, month);
        if !self.take(b'-') {
            return Ok(date(Precision::Month, first, first + days));
        }
        let day = i64::from(self.digits(2)?);
        if !(1..=days).contains(&day) {
            return Err(TemporalError::Day);
        }
        Ok(date(Precision::Day, first + day - 1, first + day))
    }

    fn time(&mut self) -> Result<TimeOfDay, TemporalError> {
        let time = |precision, start, width| TimeOfDay {
            precision,
            start,
            end: start + width,
        };
        let hour = i64::from(self.digits(2)?);
        if hour > 23 {
            return Err(TemporalError::Hour);
        }
        let start = hour * HOUR;
        if !self.take(b':') {
            return Ok(time(Precision::Hour, start, HOUR));
        }
        let minute = i64::from(self.digits(2)?);
        if minute > 59 {
            return Err(TemporalError::Minute);
        }
        let start = start + minute * MINUTE;
        if !self.take(b':') {
            return Ok(time(Precision::Minute, start, MINUTE));
        }
        // A leap second has the number 60. It counts as the first second of the next minute.
        let second = i64::from(self.digits(2)?);
        if second > 60 {
            return Err(TemporalError::Second);
        }
        let start = start + second * SECOND;
        if !self.take(b'.') {
            return Ok(time(Precision::Second, start, SECOND));
        }
        let (fraction, width) = self.fraction()?;
        Ok(time(Precision::Fraction, start + fraction, width))
    }

    /// Parses the decimals of a second. Returns their value in microseconds, and the length of the interval in
    /// microseconds: one unit of the last digit, at least one microsecond.
    fn fraction(&mut self) -> Result<(i64, i64), TemporalError> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(TemporalError::Form);
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let (mut fraction, mut width) = (0, SECOND);
        for digit in digits.iter().take(6) {
            width /= 10;
            fraction += i64::from(digit - b'0') * width;
        }
        Ok((fraction, width))
    }

    fn zone(&mut self) -> Result<Option<i16>, TemporalError> {
        let sign = match self.0.first() {
            None => return Ok(None),
            Some(b'Z') => {
                self.0 = &self.0[1..];
                return Ok(Some(0));
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return Err(TemporalError::Form),
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2)?;
        if !self.take(b':') {
            return Err(TemporalError::Form);
        }
        let minutes = self.digits(2)?;
        if minutes > 59 || hours * 60 + minutes > 14 * 60 {
            return Err(TemporalError::Zone);
        }
        Ok(Some(sign * (hours * 60 + minutes)))
    }

    /// Parses the next `count` bytes, at most four, as a number.
    fn digits(&mut self, count: usize) -> Result<i16, TemporalError> {
        let (digits, rest) = self.0.split_at_checked(count).ok_or(TemporalError::Form)?;
        let mut number = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return Err(TemporalError::Form);
            }
            number = number * 10 + i16::from(digit - b'0');
        }
        self.0 = rest;
        Ok(number)
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if *first == byte => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn finish(&self) -> Result<(), TemporalError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(TemporalError::Form)
        }
    }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number of days in 400 years. The calendar repeats after this time.
const CYCLE: i64 = 146_097;
/// The number of days from 0000-03-01 to 1970-01-01.
const TO_EPOCH: i64 = 719_468;

/// Returns the number of days from 1970-01-01 to a day of the proleptic Gregorian calendar. The computation uses years
/// that begin in March, so that a leap day is the last day of its year.
fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = (month + 9) % 12;
    // From March on, months have 30.6 days on average: five months have 153.
    let days = year * 365 + year / 4 - year / 100 + (month * 153 + 2) / 5 + day - 1;
    cycle * CYCLE + days - TO_EPOCH
}

/// Returns the year, month and day of the day `days` after 1970-01-01.
fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + TO_EPOCH;
    let (cycle, days) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    // Subtract the leap days of the earlier years of the cycle, so that every year has 365 days.
    let year = (days - days / 1460 + days / 36_524 - days / (CYCLE - 1)) / 365;
    let days = days - (year * 365 + year / 4 - year / 100);
    let month = (days * 5 + 2) / 153;
    let day = days - (month * 153 + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Datelike, NaiveDate, SecondsFormat};
    use proptest::prelude::*;

    use super::*;

    fn micros(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_micros()
    }

    #[test]
    fn a_text_stands_for_an_interval() {
        use Precision::*;
        for (text, precision, zone, start, end) in [
            ("2024", Year, None, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            ("2024-02", Month, None, "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("2023-12", Month, None, "2023-12-01T00:00:00Z", "2024-01-01T00:00:00Z"),
            ("2024-02-29", Day, None, "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("1900-02-28", Day, None, "1900-02-28T00:00:00Z", "1900-03-01T00:00:00Z"),
            ("0001-01-01", Day, None, "0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z"),
            (
                "2024-02-29T10",
                Hour,
                None,
                "2024-02-29T10:00:00Z",
                "2024-02-29T11:00:00Z",
            ),
            (
                "2024-02-29T10:30Z",
                Minute,
                Some(0),
                "2024-02-29T10:30:00Z",
                "2024-02-29T10:31:00Z",
            ),
            (
                "2024-02-29T10:30:15",
                Second,
                None,
                "2024-02-29T10:30:15Z",
                "2024-02-29T10:30:16Z",
            ),
            (
                "2024-02-29T10:30:15+05:30",
                Second,
                Some(330),
                "2024-02-29T05:00:15Z",
                "2024-02-29T05:00:16Z",
            ),
            (
                "2024-12-31T23:30:00-14:00",
                Second,
                Some(-840),
                "2025-01-01T13:30:00Z",
                "2025-01-01T13:30:01Z",
            ),
            (
                "2024-02-29T10:30:15.5Z",
                Fraction,
                Some(0),
                "2024-02-29T10:30:15.5Z",
                "2024-02-29T10:30:15.6Z",
            ),
            (
                "2024-02-29T10:30:15.123Z",
                Fraction,
                Some(0),
                "2024-02-29T10:30:15.123Z",
                "2024-02-29T10:30:15.124Z",
            ),
            (
                "2024-02-29T10:30:15.1234569Z",
                Fraction,
                Some(0),
                "2024-02-29T10:30:15.123456Z",
                "2024-02-29T10:30:15.123457Z",
            ),
            (
                "2016-12-31T23:59:60Z",
                Second,
                Some(0),
                "2017-01-01T00:00:00Z",
                "2017-01-01T00:00:01Z",
            ),
        ] {
            let found = Temporal::date_time(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                found,
                Temporal {
                    precision,
                    zone,
                    start: micros(start),
                    end: micros(end)
                },
                "{text}"
            );
            assert_eq!(found.has_zone(), zone.is_some());
        }
        assert!(Temporal::date_time("9999").unwrap().end > Temporal::date_time("9999-12-31T23:59:59Z").unwrap().start);
    }

    #[test]
    fn what_is_no_date_is_an_error() {
        use TemporalError::*;
        for (text, error) in [
            ("", Form),
            ("202", Form),
            ("20240", Form),
            ("2024-", Form),
            ("2024-2", Form),
            ("2024-02-3", Form),
            ("2024/02/03", Form),
            (" 2024", Form),
            ("2024 ", Form),
            ("+024", Form),
            ("-2024", Form),
            ("２０２４", Form),
            ("2024T10:00:00Z", Form),
            ("2024-02T10:00:00Z", Form),
            ("2024-02-29T", Form),
            ("2024-02-29Z", Form),
            ("2024-02-29 10:00:00Z", Form),
            ("2024-02-29t10:00:00Z", Form),
            ("2024-02-29T10:00:00z", Form),
            ("2024-02-29T10:", Form),
            ("2024-02-29T10:00:00.Z", Form),
            ("2024-02-29T10:00:00,5Z", Form),
            ("2024-02-29T10:00:00+05", Form),
            ("2024-02-29T10:00:00+0530", Form),
            ("2024-02-29T10:00:00ZZ", Form),
            ("0000", Year),
            ("2024-00", Month),
            ("2024-13", Month),
            ("2024-04-31", Day),
            ("2024-04-00", Day),
            ("2023-02-29", Day),
            ("1900-02-29", Day),
            ("2024-02-29T24:00:00Z", Hour),
            ("2024-02-29T10:60:00Z", Minute),
            ("2024-02-29T10:00:61Z", Second),
            ("2024-02-29T10:00:00+14:01", Zone),
            ("2024-02-29T10:00:00-10:60", Zone),
        ] {
            assert_eq!(Temporal::date_time(text), Err(error), "{text}");
        }
        assert_eq!(Temporal::date("2024-02-29T10:00:00Z"), Err(Form));
        for text in ["2024-02-29", "2024-02-29T10:00Z", "2024-02-29T10:00:00"] {
            assert_eq!(Temporal::instant(text), Err(Instant), "{text}");
        }
        assert!(Temporal::instant("2024-02-29T10:00:00.000+01:00").is_ok());
    }

    #[test]
    fn a_time_of_day_stands_for_an_interval() {
        let time = |precision, start, end| Ok(TimeOfDay { precision, start, end });
        assert_eq!(TimeOfDay::parse("00:00:00"), time(Precision::Second, 0, SECOND));
        assert_eq!(TimeOfDay::parse("14"), time(Precision::Hour, 14 * HOUR, 15 * HOUR));
        assert_eq!(TimeOfDay::parse("23:59"), time(Precision::Minute, DAY - MINUTE, DAY));
        assert_eq!(TimeOfDay::parse("23:59:60"), time(Precision::Second, DAY, DAY + SECOND));
        assert_eq!(
            TimeOfDay::parse("10:00:00.25"),
            time(Precision::Fraction, 10 * HOUR + 250_000, 10 * HOUR + 260_000)
        );
        assert_eq!(TimeOfDay::parse("24:00:00"), Err(TemporalError::Hour));
        for text in ["", "1", "10:00:00Z", "T10", "10:00:00+01:00", "-1:00:00"] {
            assert_eq!(TimeOfDay::parse(text), Err(TemporalError::Form), "{text}");
        }
    }

    #[test]
    fn instants_have_three_or_six_decimals() {
        assert_eq!(instant_text(0).unwrap(), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant_text(-1).unwrap(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(
            instant_text(micros("2024-02-29T23:59:59.120Z")).unwrap(),
            "2024-02-29T23:59:59.120Z"
        );
        assert_eq!(instant_text(i64::MAX), None);
        assert_eq!(instant_text(i64::MIN), None);
    }

    const FIRST: i64 = -62_135_596_800_000_000;
    const LAST: i64 = 253_402_300_799_999_999;

    proptest! {
        #[test]
        fn every_moment_is_written_and_read(moment in FIRST..=LAST) {
            let text = instant_text(moment).unwrap();
            prop_assert_eq!(Temporal::instant(&text).unwrap().start, moment);
            let expected = DateTime::from_timestamp_micros(moment).unwrap();
            prop_assert_eq!(DateTime::parse_from_rfc3339(&text).unwrap(), expected);
        }

        #[test]
        fn moments_with_zones_are_read_as_chrono_does(moment in FIRST..=LAST, zone in -840..=840i32) {
            let zone = chrono::FixedOffset::east_opt(zone * 60).unwrap();
            let local = DateTime::from_timestamp_micros(moment).unwrap().with_timezone(&zone);
            prop_assume!((1..=9999).contains(&local.year()));
            for format in [SecondsFormat::Secs, SecondsFormat::Millis, SecondsFormat::Micros] {
                let text = local.to_rfc3339_opts(format, false);
                let found = Temporal::date_time(&text).unwrap();
                prop_assert_eq!(found.start, micros(&text));
                prop_assert!(found.start <= moment && moment < found.end);
            }
        }

        #[test]
        fn a_day_is_in_its_month_and_year(days in 0..3_652_059i64) {
            let day = NaiveDate::from_num_days_from_ce_opt(days as i32 + 1).unwrap();
            let text = day.format("%Y-%m-%d").to_string();
            let [day, month, year] = [10, 7, 4].map(|len| Temporal::date(&text[..len]).unwrap());
            prop_assert_eq!(day.end - day.start, DAY);
            prop_assert!(month.start <= day.start && day.end <= month.end);
            prop_assert!(year.start <= month.start && month.end <= year.end);
            prop_assert_eq!(Temporal::date_time(&text), Ok(day));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", near in "[0-9]{4}(-[0-9]{2}){0,2}(T[0-9:.]{0,12})?[-+Z0-9:]{0,6}") {
            for text in [text, near] {
                if let Ok(found) = Temporal::date_time(&text) {
                    prop_assert!(found.start < found.end);
                }
                if let Ok(found) = TimeOfDay::parse(&text) {
                    prop_assert!(found.start < found.end);
                }
            }
        }
    }
}
