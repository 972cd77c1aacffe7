//! Searches by dates of every precision and by Periods with and without bounds. A count over a population, which the
//! scan mostly decides on dictionary codes, equals a plain reading.

use chrono::{DateTime, Duration, Months, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::small::small;

const ROWS: usize = 1_200;

fn day(n: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(1_262_304_000, 0).unwrap() + Duration::days(n as i64)
}

fn seconds(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The element with the date of a row, and its interval in microseconds. `None` for a row without a date. `kinds` is
/// the number of kinds of dates in the lake.
fn dated(row: usize, kinds: usize) -> Option<(Value, i64, i64)> {
    let start = day(row * 7919 % 997);
    let of = |element: &str, value: Value, length: Duration| {
        Some((
            json!({element: value}),
            start.timestamp_micros(),
            (start + length).timestamp_micros(),
        ))
    };
    let month = start
        .format("%Y-%m-01T00:00:00Z")
        .to_string()
        .parse::<DateTime<Utc>>()
        .unwrap();
    let last = start + Duration::days(40);
    match row % kinds {
        0 => of("effectiveDateTime", seconds(start).into(), Duration::seconds(1)),
        1 => of("effectiveInstant", seconds(start).into(), Duration::seconds(1)),
        2 => Some((
            json!({"effectivePeriod": {"start": seconds(start), "end": seconds(last)}}),
            start.timestamp_micros(),
            (last + Duration::seconds(1)).timestamp_micros(),
        )),
        3 => Some((
            json!({"effectivePeriod": {"start": seconds(start)}}),
            start.timestamp_micros(),
            i64::MAX,
        )),
        4 => Some((
            json!({"effectivePeriod": {"end": seconds(start)}}),
            i64::MIN,
            (start + Duration::seconds(1)).timestamp_micros(),
        )),
        5 => of(
            "effectiveDateTime",
            start.format("%Y-%m-%d").to_string().into(),
            Duration::days(1),
        ),
        6 => Some((
            json!({"effectiveDateTime": start.format("%Y-%m").to_string()}),
            month.timestamp_micros(),
            (month + Months::new(1)).timestamp_micros(),
        )),
        _ => None,
    }
}

/// Whether an interval matches a date of a search (R4 search, 3.1.1.4.5).
fn matches(prefix: &str, (from, to): (i64, i64), (start, end): (i64, i64)) -> bool {
    let is_inside = start >= from && end <= to;
    match prefix {
        "eq" => is_inside,
        "ne" => !is_inside,
        "gt" => end > to,
        "lt" => start < from,
        "ge" => end > to || is_inside,
        "le" => start < from || is_inside,
        "sa" => start >= to,
        "eb" => end <= from,
        other => panic!("{other}"),
    }
}

#[test]
fn counts_by_date_equal_a_plain_reading() {
    // The lakes differ in which kinds of dates stand beside each other in a row group.
    for kinds in [1, 2, 3, 4, 5, 6, 9] {
        let observation = |row: usize| {
            let mut json = json!({"resourceType": "Observation", "id": format!("o{row}"), "status": "final",
                "code": {"text": "pulse"}});
            if let Some((date, ..)) = dated(row, kinds) {
                json.as_object_mut().unwrap().extend(date.as_object().unwrap().clone());
            }
            // A Period may have neither start nor end.
            if row % kinds == 7 {
                json["effectivePeriod"] = json!({"extension": [{"url": "http://e", "valueString": "x"}]});
            }
            json
        };
        let lake = small(&(0..ROWS).map(observation).collect::<Vec<_>>());
        let counted = |conditions: &str| {
            let page = lake.page(&format!("Observation?{conditions}&_summary=count")).unwrap();
            page["total"].as_u64().unwrap() as usize
        };
        let expected = |conditions: &[(&str, (i64, i64))]| {
            let found = (0..ROWS).filter(|row| {
                let date = dated(*row, kinds).map(|(_, start, end)| (start, end));
                date.is_some_and(|date| {
                    conditions
                        .iter()
                        .all(|(prefix, searched)| matches(prefix, *searched, date))
                })
            });
            found.count()
        };
        let searched = [40, 400, 401, 900].map(|n| {
            let (from, length) = (day(n), Duration::days(1));
            (
                from.format("%Y-%m-%d").to_string(),
                (from.timestamp_micros(), (from + length).timestamp_micros()),
            )
        });
        for prefix in ["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb"] {
            for (text, interval) in &searched {
                let conditions = format!("date={prefix}{text}");
                assert_eq!(
                    counted(&conditions),
                    expected(&[(prefix, *interval)]),
                    "{kinds}: {conditions}"
                );
            }
        }
        for (from, to) in [(0, 1), (1, 2), (0, 3)] {
            let conditions = format!("date=ge{}&date=lt{}", searched[from].0, searched[to].0);
            let expected = expected(&[("ge", searched[from].1), ("lt", searched[to].1)]);
            assert_eq!(counted(&conditions), expected, "{kinds}: {conditions}");
        }
    }
}
