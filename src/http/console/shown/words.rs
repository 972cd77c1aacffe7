//! Formats numbers, sizes and times for people.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat};

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

/// Formats seconds since the Unix epoch as a time in UTC. Empty if it is out of range.
pub(in crate::http::console) fn time(seconds: i64) -> String {
    let time = DateTime::from_timestamp(seconds, 0);
    time.map_or_else(String::new, |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
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
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
    }
}
