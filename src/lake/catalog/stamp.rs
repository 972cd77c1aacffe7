//! Times as the catalog writes them: in UTC and with microseconds, so that the texts sort like the times.

use chrono::{DateTime, Utc};

const FORMAT: &str = "%Y-%m-%d %H:%M:%S%.6f+00";

/// Returns the catalog's text for a time in microseconds since 1970.
pub(super) fn text(micros: i64) -> String {
    DateTime::<Utc>::from_timestamp_micros(micros)
        .unwrap_or_default()
        .format(FORMAT)
        .to_string()
}

/// Returns the time of a text that [`text`] wrote, in microseconds since 1970. `None` for any other text.
pub(super) fn parse(text: &str) -> Option<i64> {
    // The offset is always `+00`. chrono's `%#z` accepts an offset without minutes.
    DateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f%#z")
        .ok()
        .map(|time| time.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_reads() {
        assert_eq!(text(1_700_000_000_000_001), "2023-11-14 22:13:20.000001+00");
        for micros in [0, -1, 1_700_000_000_000_001, 253_402_300_799_999_999] {
            assert_eq!(parse(&text(micros)), Some(micros));
        }
        assert_eq!(parse("yesterday"), None);
    }
}
