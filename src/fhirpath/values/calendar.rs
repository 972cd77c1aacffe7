//! Adds quantities of time to dates and times. The result is as precise as the date or time. A quantity that is
//! finer than the date or time is first truncated to whole units of its precision. Only a time with seconds may gain
//! milliseconds.

use chrono::{Datelike, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};

use super::super::compile::types::System;
use super::builder::Computed;
use super::quantity::Quantity;

/// The parts of a written date or time.
struct Parts {
    date: NaiveDate,
    time: NaiveTime,
    /// The number of characters without `T` and zone, which tells the precision. A date has 4, 7 or 10 characters, and
    /// a dateTime has more. For a time of day, it is the number of characters of the time.
    length: usize,
    zone: String,
}

/// Adds a duration. `Ok(None)` if the text is invalid, or if the year of the result is not 1 to 9999. `Err` if the unit
/// is not a unit of time. Also `Err` for UCUM's `a` and `mo`, unless the quantity is from a record.
pub(in crate::fhirpath) fn add(kind: System, text: &str, by: &Quantity<'_>) -> Result<Option<Computed>, String> {
    let unit = match by.unit {
        Some("a") if by.recorded => Step::Months(12),
        Some("mo") if by.recorded => Step::Months(1),
        Some("a" | "mo") | None => {
            return Err(format!("cannot add {} to a {}", by.unit.unwrap_or("1"), kind.name()));
        }
        Some("year") => Step::Months(12),
        Some("month") => Step::Months(1),
        Some("week" | "wk") => Step::Millis(7 * 86_400_000),
        Some("day" | "d") => Step::Millis(86_400_000),
        Some("hour" | "h") => Step::Millis(3_600_000),
        Some("minute" | "min") => Step::Millis(60_000),
        Some("second" | "s") => Step::Millis(1000),
        Some("millisecond" | "ms") => Step::Millis(1),
        Some(other) => return Err(format!("cannot add {other} to a {}", kind.name())),
    };
    if !super::temporal::is_valid(kind, text) {
        return Ok(None);
    }
    let Some(parts) = parse(kind, text) else {
        return Ok(None);
    };
    let moved = match unit {
        Step::Months(months) => {
            let count = i64::try_from(by.value.truncated())
                .ok()
                .and_then(|count| count.checked_mul(months));
            // A date that has only a year moves by whole years, so the remaining months are dropped.
            let whole = if parts.length == 4 { 12 } else { 1 };
            count.and_then(|count| move_months(&parts, count / whole * whole))
        }
        Step::Millis(millis) => move_millis(kind, &parts, by, millis),
    };
    let moved = moved.filter(|(date, _)| (1..=9999).contains(&date.year()));
    Ok(moved.map(|(date, time)| render(kind, &parts, date, time)))
}

enum Step {
    Months(i64),
    Millis(i64),
}

fn parse(kind: System, text: &str) -> Option<Parts> {
    let (date, clock) = match kind {
        System::Time => ("2000-01-01", text),
        _ => text.split_once('T').unwrap_or((text, "")),
    };
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let number = |range: std::ops::Range<usize>, default: u32| match date.get(range) {
        Some(digits) => digits.parse().ok(),
        None => Some(default),
    };
    let date_parts = NaiveDate::from_ymd_opt(number(0..4, 1)? as i32, number(5..7, 1)?, number(8..10, 1)?)?;
    let mut pieces = clock.split(':');
    let mut piece = || pieces.next().filter(|piece| !piece.is_empty());
    let hour = piece().map_or(Some(0), |piece| piece.parse().ok())?;
    let minute = piece().map_or(Some(0), |piece| piece.parse().ok())?;
    let (second, fraction) = piece().map_or(("0", ""), |piece| piece.split_once('.').unwrap_or((piece, "")));
    let nanos: u32 = format!("{fraction:0<9.9}").parse().ok()?;
    let time = NaiveTime::from_hms_nano_opt(hour, minute, second.parse().ok()?, nanos)?;
    let length = if kind == System::Time {
        clock.len()
    } else {
        date.len() + clock.len()
    };
    Some(Parts {
        date: date_parts,
        time,
        length,
        zone: zone.to_string(),
    })
}

fn move_months(parts: &Parts, months: i64) -> Option<(NaiveDate, NaiveTime)> {
    let by = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    let date = if months < 0 {
        parts.date.checked_sub_months(by)
    } else {
        parts.date.checked_add_months(by)
    }?;
    Some((date, parts.time))
}

fn move_millis(kind: System, parts: &Parts, by: &Quantity<'_>, millis: i64) -> Option<(NaiveDate, NaiveTime)> {
    // A date without a day moves by whole months or years. A year counts as 365 days and a month as 30, to convert the
    // quantity. `None` for dates with a day and for times.
    let coarse = match (kind, parts.length) {
        (System::Time, _) => None,
        (_, 4) => Some((12, 365 * 86_400_000)),
        (_, 7) => Some((1, 30 * 86_400_000)),
        _ => None,
    };
    let unit = super::number::Number::whole(millis);
    // If the unit is longer than a second, only the whole part of the number counts (N1, section 6.7).
    let count = if millis > 1000 {
        super::number::Number {
            mantissa: by.value.truncated(),
            scale: 0,
        }
    } else {
        by.value
    };
    let total = count.multiply(unit)?;
    if let Some((months, length)) = coarse {
        let whole = i64::try_from(total.truncated() / length).ok()?;
        return move_months(parts, whole.checked_mul(months)?);
    }
    // A quantity that is finer than the value is truncated to the value's precision.
    let clock_length = match kind {
        System::Time => Some(parts.length),
        _ => parts.length.checked_sub(10).filter(|length| *length > 0),
    };
    let grain = match clock_length {
        None => 86_400_000,
        Some(2) => 3_600_000,
        Some(5) => 60_000,
        Some(_) => 1,
    };
    let total = i64::try_from(total.truncated() / grain * grain).ok()?;
    let moved = NaiveDateTime::new(parts.date, parts.time).checked_add_signed(TimeDelta::try_milliseconds(total)?)?;
    Some((moved.date(), moved.time()))
}

fn render(kind: System, parts: &Parts, date: NaiveDate, time: NaiveTime) -> Computed {
    let mut clock = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
    let millis = time.nanosecond() / 1_000_000;
    let clock_length = if kind == System::Time {
        parts.length
    } else {
        parts.length.saturating_sub(10)
    };
    if clock_length > 8 || (millis > 0 && clock_length == 8) {
        clock.push_str(&format!(".{millis:03}"));
    } else {
        clock.truncate(clock_length);
    }
    if kind == System::Time {
        return Computed::Time(clock);
    }
    let mut text = format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day());
    if clock_length == 0 {
        text.truncate(parts.length);
    } else {
        text = format!("{text}T{clock}{}", parts.zone);
    }
    match kind {
        System::Date => Computed::Date(text),
        _ => Computed::DateTime(text),
    }
}
