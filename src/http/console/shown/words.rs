//! Formats numbers, sizes and times for people.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};

/// Formats a whole number with commas between thousands.
pub(in crate::http::console) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes with about three digits and a unit.
pub(in crate::http::console) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Formats a duration in milliseconds.
pub(in crate::http::console) fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1e3;
    let digits = if millis < 10.0 { 1 } else { 0 };
    format!("{millis:.digits$} ms")
}

/// A time in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::http::console) struct Moment {
    /// The time to the second, for the attribute `datetime`.
    pub(in crate::http::console) exact: String,
    /// The time to the minute, for people.
    pub(in crate::http::console) shown: String,
}

impl Moment {
    fn of(time: DateTime<Utc>) -> Moment {
        Moment {
            exact: time.to_rfc3339_opts(SecondsFormat::Secs, true),
            shown: time.format("%-d %b %Y, %H:%M UTC").to_string(),
        }
    }

    /// Parses a FHIR instant. Shows any other text as it is.
    pub(in crate::http::console) fn parse(text: &str) -> Moment {
        match DateTime::parse_from_rfc3339(text) {
            Ok(time) => Moment::of(time.to_utc()),
            Err(_) => Moment {
                exact: text.to_owned(),
                shown: text.to_owned(),
            },
        }
    }
}

/// Returns the time of seconds since the Unix epoch. Empty if it is out of range.
pub(in crate::http::console) fn time(seconds: i64) -> Moment {
    DateTime::from_timestamp(seconds, 0).map(Moment::of).unwrap_or_default()
}

/// Formats the time since an event in words.
pub(in crate::http::console) fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s ago"),
        seconds if seconds < 7_200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_read() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1_000, 1_234_567].map(number).each_ref().map(String::as_str)
        );
        assert_eq!(bytes(5_000_000), "4.77 MiB");
        assert_eq!(millis(Duration::from_micros(4_250)), "4.2 ms");
    }

    #[test]
    fn times_can_be_read_and_are_exact() {
        let moment = time(1_795_814_181);
        assert_eq!(moment.exact, "2026-11-27T21:16:21Z");
        assert_eq!(moment.shown, "27 Nov 2026, 21:16 UTC");
        assert_eq!(Moment::parse("2026-11-27T22:16:21.5+01:00"), moment);
        assert_eq!(Moment::parse("2026-11").shown, "2026-11");
        assert_eq!(time(i64::MAX), Moment::default());
    }
}
