//! Plain readings of a resource's JSON, as a person would check a match. They share no code with the engine.

use chrono::{DateTime, Datelike, Duration, NaiveDate, TimeZone, Utc};
use serde_json::Value;

/// All values at a dotted path, with lists flattened.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![value];
    for step in path.split('.') {
        found = found
            .into_iter()
            .filter_map(|value| value.get(step))
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                other => vec![other],
            })
            .collect();
    }
    found
}

/// The texts at a path.
pub(super) fn texts<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    at(value, path).into_iter().filter_map(Value::as_str).collect()
}

/// Whether the texts at a path include this one.
pub(super) fn is(value: &Value, path: &str, text: &str) -> bool {
    texts(value, path).contains(&text)
}

/// Whether there is a value at a path.
pub(super) fn has(value: &Value, path: &str) -> bool {
    !at(value, path).is_empty()
}

/// Whether one of the Codings at a path has this system, if one is given, and this code.
pub(super) fn coded(value: &Value, path: &str, system: Option<&str>, code: &str) -> bool {
    at(value, path)
        .into_iter()
        .any(|coding| coding["code"] == code && system.is_none_or(|system| coding["system"] == system))
}

/// Whether one of the Identifiers at a path has this system and value.
pub(super) fn identified(value: &Value, path: &str, system: &str, of: &str) -> bool {
    at(value, path)
        .into_iter()
        .any(|identifier| identifier["system"] == system && identifier["value"] == of)
}

/// Whether a text at a path begins with this, ignoring case.
pub(super) fn begins(value: &Value, path: &str, text: &str) -> bool {
    texts(value, path)
        .iter()
        .any(|found| found.to_lowercase().starts_with(&text.to_lowercase()))
}

/// The numbers at a path.
pub(super) fn numbers(value: &Value, path: &str) -> Vec<f64> {
    at(value, path).into_iter().filter_map(Value::as_f64).collect()
}

/// A span of time in seconds: from the first moment to the one after the last.
pub(super) type Span = (f64, f64);

/// The span of a date or dateTime.
pub(super) fn span(text: &str) -> Span {
    let seconds = |date: NaiveDate| Utc.from_utc_datetime(&date.and_hms_opt(0, 0, 0).unwrap()).timestamp() as f64;
    let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").unwrap();
    match text.len() {
        4 => {
            let year: i32 = text.parse().unwrap();
            (
                seconds(day(&format!("{year:04}-01-01"))),
                seconds(day(&format!("{:04}-01-01", year + 1))),
            )
        }
        7 => {
            let first = day(&format!("{text}-01"));
            let next = if first.month() == 12 {
                NaiveDate::from_ymd_opt(first.year() + 1, 1, 1)
            } else {
                NaiveDate::from_ymd_opt(first.year(), first.month() + 1, 1)
            };
            (seconds(first), seconds(next.unwrap()))
        }
        10 => (seconds(day(text)), seconds(day(text) + Duration::days(1))),
        _ => {
            let moment = DateTime::parse_from_rfc3339(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let precision = match text.split_once('.') {
                Some((_, rest)) => 10f64.powi(-(rest.chars().take_while(char::is_ascii_digit).count() as i32)),
                None => 1.0,
            };
            let start = moment.timestamp() as f64 + f64::from(moment.timestamp_subsec_micros()) / 1e6;
            (start, start + precision)
        }
    }
}

/// The spans of the dates at `path` and of the Periods at `periods`.
pub(super) fn spans(value: &Value, path: &str, periods: &str) -> Vec<Span> {
    let mut all: Vec<Span> = texts(value, path).into_iter().map(span).collect();
    for period in at(value, periods) {
        let start = period["start"].as_str().map_or(f64::NEG_INFINITY, |text| span(text).0);
        let end = period["end"].as_str().map_or(f64::INFINITY, |text| span(text).1);
        all.push((start, end));
    }
    all
}

/// Whether a date has a relation to another, by R4's table of prefixes.
pub(super) fn relates(prefix: &str, target: Span, text: &str) -> bool {
    let (start, end) = span(text);
    let within = target.0 >= start && target.1 <= end;
    match prefix {
        "eq" => within,
        "ne" => !within,
        "gt" => target.1 > end,
        "lt" => target.0 < start,
        "ge" => within || target.1 > end,
        "le" => within || target.0 < start,
        "sa" => target.0 >= end,
        "eb" => target.1 <= start,
        other => panic!("{other}"),
    }
}
