//! Dates, Periods and Timings as spans of time, and R4's table of prefixes.

use chrono::{Datelike, Days, Months, NaiveDate, NaiveTime};
use serde_json::Value;

use super::{list, some_text, split_prefix};
use crate::search::corpus::NOW;

/// From the first microsecond to the one after the last.
pub(in crate::search::differential) type Span = (i64, i64);
const OPEN: Span = (i64::MIN, i64::MAX);
const DAY: i64 = 86_400_000_000;

/// The span of a date or dateTime.
pub(in crate::search::differential) fn span(text: &str) -> Option<Span> {
    let number = |from: usize, to: usize| {
        let digits = text.get(from..to)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<u32>().ok())?
    };
    let mark = |at: usize, mark: &str| text.get(at..=at) == Some(mark);
    let date = |year: u32, month: u32, day: u32| NaiveDate::from_ymd_opt(year as i32, month, day);
    let days = |date: NaiveDate| i64::from(date.num_days_from_ce() - 719_163) * DAY;
    let year = number(0, 4)?;
    if text.len() == 4 {
        return Some((days(date(year, 1, 1)?), days(date(year + 1, 1, 1)?)));
    }
    let month = number(5, 7).filter(|_| mark(4, "-"))?;
    if text.len() == 7 {
        let first = date(year, month, 1)?;
        return Some((days(first), days(first.checked_add_months(Months::new(1))?)));
    }
    let day = date(year, month, number(8, 10).filter(|_| mark(7, "-"))?)?;
    if text.len() == 10 {
        return Some((days(day), days(day.checked_add_days(Days::new(1))?)));
    }
    let time = text.get(11..).filter(|_| mark(10, "T"))?;
    let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, zone) = time.split_at(zone);
    let minutes = match zone {
        "" | "Z" => 0,
        zone => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let all = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if zone.starts_with('-') { -all } else { all }
        }
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let (parsed, length) = match clock.len() {
        5 => (NaiveTime::parse_from_str(clock, "%H:%M").ok()?, 60_000_000),
        8 => (NaiveTime::parse_from_str(clock, "%H:%M:%S").ok()?, 1_000_000),
        _ => return None,
    };
    let of_day = parsed.signed_duration_since(NaiveTime::MIN).num_microseconds()?;
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros = digits.parse::<i64>().ok()?;
    let length = if fraction.is_empty() {
        length
    } else {
        10i64.pow(6 - fraction.len().min(6) as u32)
    };
    let start = days(day) + of_day + micros - minutes * 60_000_000;
    Some((start, start + length))
}

/// The span of a date, a Period or a Timing.
pub(in crate::search::differential) fn time_of(value: &Value) -> Option<Span> {
    if let Some(text) = value.as_str() {
        return span(text);
    }
    let start = |value: &Value| span(some_text(value, "start")?).map(|span| span.0);
    let end = |value: &Value| span(some_text(value, "end")?).map(|span| span.1);
    if value.get("event").is_none() && value.get("repeat").is_none() {
        let (start, end) = (start(value), end(value));
        return (start.is_some() || end.is_some()).then(|| (start.unwrap_or(OPEN.0), end.unwrap_or(OPEN.1)));
    }
    let events = list(value, "event").filter_map(|event| span(event.as_str()?));
    let bounds = list(value, "repeat").flat_map(|repeat| list(repeat, "boundsPeriod"));
    let bounds = bounds.map(|period| (start(period).unwrap_or(OPEN.0), end(period).unwrap_or(OPEN.1)));
    let limits = events.chain(bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    limits.filter(|limits| *limits != OPEN)
}

pub(super) fn date(text: &str, value: &Value) -> Option<bool> {
    let (prefix, text) = split_prefix(text);
    let (start, end) = span(text)?;
    let Some(target) = time_of(value) else {
        return Some(false);
    };
    let within = target.0 >= start && target.1 <= end;
    Some(match prefix {
        "eq" => within,
        "ne" => !within,
        "gt" => target.1 > end,
        "lt" => target.0 < start,
        "ge" => within || target.1 > end,
        "le" => within || target.0 < start,
        "sa" => target.0 >= end,
        "eb" => target.1 <= start,
        "ap" => {
            // A tenth of the time between then and now, in both directions.
            let gap = (NOW - start).abs() / 10;
            target.0 < end + gap && target.1 > start - gap
        }
        other => panic!("{other}"),
    })
}
