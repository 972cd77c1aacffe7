//! Computes the companions of a text: an exact number, the bounds of a date or time, the parts of a reference. Each
//! function returns `None` if the text has another form. The column itself keeps the text in any case.

use crate::fhir::decimal::Decimal;
use crate::fhir::reference::Target;
use crate::fhir::temporal::{Temporal, TimeOfDay};

/// Returns a decimal as an integer in units of 10^-18. `None` if this integer would not be exact or would have more
/// than 38 digits.
pub(super) fn number(text: &str) -> Option<i128> {
    Decimal::parse(text).ok()?.scaled()
}

/// Returns the half-open bounds of a date, dateTime or instant, in UTC microseconds.
pub(super) fn date_bounds(text: &str) -> Option<(i64, i64)> {
    let temporal = Temporal::date_time(text).ok()?;
    Some((temporal.start, temporal.end))
}

/// Returns the half-open bounds of a time, in microseconds since midnight.
pub(super) fn time_bounds(text: &str) -> Option<(i64, i64)> {
    let time = TimeOfDay::parse(text).ok()?;
    Some((time.start, time.end))
}

/// Returns the resource type and the id of a relative reference.
pub(super) fn relative_reference(text: &str) -> Option<(&'static str, &str)> {
    let target = Target::parse(text)?;
    Some((target.type_name(), target.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companions_of_what_has_them() {
        assert_eq!(number("-1.50"), Some(-1_500_000_000_000_000_000));
        assert_eq!(number("1e-19"), None);
        assert_eq!(date_bounds("1970"), Some((0, 365 * 86_400_000_000)));
        assert_eq!(date_bounds("1970-01-01T01:00:00+01:00"), Some((0, 1_000_000)));
        assert_eq!(date_bounds("yesterday"), None);
        assert_eq!(time_bounds("00:01:00"), Some((60_000_000, 61_000_000)));
        assert_eq!(relative_reference("Patient/1/_history/2"), Some(("Patient", "1")));
        assert_eq!(
            relative_reference("urn:uuid:c757873d-ec9a-4326-a141-556f43239520"),
            None
        );
        assert_eq!(relative_reference("https://example.org/fhir/Patient/1"), None);
    }
}
