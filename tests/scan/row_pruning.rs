//! If page statistics are useless, conditions on numbers and times are decided row by row, without losing a matching
//! row.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use chrono::{DateTime, Duration, SecondsFormat, Utc};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use proptest::prelude::*;
use serde_json::{Value, json};
use tabularium::columns::conditions::{ItemMatch, LeafTest, Prune};
use tabularium::lake::file::CHECKSUMS_KEY;
use tabularium::lake::scan::ScanReport;
use tabularium::lake::{Lake, ScanRequest, Snapshot};

use super::asked::{Asked, scanned, try_scanned};
use super::{leaves, texts};
use crate::harness::records::{Record, application, commit, lake, type_named};

const ROWS: usize = 3000;

/// Leaves with single values, within structs and within lists. No file has the last one.
const LEAVES: [&str; 8] = [
    "effectiveDateTime__start",
    "effectivePeriod.start__start",
    "effectivePeriod.end__start",
    "effectiveTiming.event__start",
    "valueInteger",
    "valueQuantity.value__number",
    "component.valueInteger",
    "valueRange.low.value__number",
];

fn day(n: usize) -> DateTime<Utc> {
    DateTime::from_timestamp(946_684_800, 0).unwrap() + Duration::days(n as i64)
}

fn text(n: usize) -> String {
    day(n).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The number of a leaf's value for `n`.
fn number(leaf: &str, n: usize) -> i128 {
    match leaf {
        "valueQuantity.value__number" | "valueRange.low.value__number" => n as i128 * 1_000_000_000_000_000_000,
        leaf if leaf.ends_with("Integer") => n as i128,
        _ => day(n).timestamp_micros().into(),
    }
}

/// The numbers from which a row's values of a leaf are made.
fn values(row: usize, leaf: &str) -> Vec<usize> {
    // Neighbouring rows have unrelated values, so each page has values of all sizes.
    let n = row * 7919 % 997;
    let has = match (row % 7, leaf) {
        (0 | 1, "effectiveDateTime__start") | (2 | 3, "effectivePeriod.start__start") => vec![n],
        (3 | 4, "effectivePeriod.end__start") => vec![n + 30],
        (5, "effectiveTiming.event__start") => (0..1 + row % 3).map(|at| n + 100 * at).collect(),
        _ => vec![],
    };
    match (row % 4, leaf) {
        (0 | 1, "valueInteger") | (2, "valueQuantity.value__number") => vec![n],
        (3, "component.valueInteger") => (0..row % 5).map(|at| n + at).collect(),
        _ => has,
    }
}

fn observation(row: usize) -> Value {
    let mut json = json!({"resourceType": "Observation", "id": format!("{row:05}"), "status": "final"});
    for leaf in LEAVES {
        let values = values(row, leaf);
        let Some(first) = values.first().copied() else { continue };
        match leaf {
            "effectiveDateTime__start" => json["effectiveDateTime"] = text(first).into(),
            "effectivePeriod.start__start" => json["effectivePeriod"]["start"] = text(first).into(),
            "effectivePeriod.end__start" => json["effectivePeriod"]["end"] = text(first).into(),
            "effectiveTiming.event__start" => {
                json["effectiveTiming"]["event"] = values.into_iter().map(text).collect::<Vec<_>>().into();
            }
            "valueInteger" => json["valueInteger"] = first.into(),
            "valueQuantity.value__number" => json["valueQuantity"]["value"] = first.into(),
            "component.valueInteger" => {
                let components = values.into_iter().map(|value| json!({"valueInteger": value}));
                json["component"] = components.collect::<Vec<_>>().into();
            }
            _ => {}
        }
    }
    json
}

fn fixture() -> (tempfile::TempDir, Lake, Arc<Snapshot>) {
    let (dir, lake) = lake();
    let records: Vec<Record> = (0..ROWS)
        .map(|row| Record::new(observation(row)).of(&lake, "p"))
        .collect();
    let snapshot = commit(&lake, &records);
    (dir, lake, snapshot)
}

/// A predicate that keeps all rows.
fn everything() -> Asked {
    let keep = |batch: &RecordBatch| Ok(BooleanArray::from(vec![true; batch.num_rows()]));
    Asked::of("all", leaves(&["status"]), Arc::new(keep))
}

/// The rows kept by a condition on statistics with a predicate that keeps all rows.
fn kept(lake: &Lake, snapshot: &Arc<Snapshot>, prune: Prune) -> (BTreeSet<String>, ScanReport) {
    let table = lake.table(snapshot, type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves(&["id"]),
        ..ScanRequest::default()
    };
    let (rows, report) = scanned(&table, request, &[everything().with_prune(prune)]);
    (texts(&rows, "id").into_iter().collect(), report)
}

fn matches(row: usize, condition: &Prune) -> bool {
    let values = |leaf: &str| -> Vec<i128> { values(row, leaf).into_iter().map(|n| number(leaf, n)).collect() };
    match condition {
        Prune::Keep => true,
        Prune::And(parts) => parts.iter().all(|part| matches(row, part)),
        Prune::Or(parts) => parts.iter().any(|part| matches(row, part)),
        Prune::Range { leaf, from, to } => {
            let within = |value: &i128| from.is_none_or(|from| from <= *value) && to.is_none_or(|to| *value <= to);
            values(leaf).iter().any(within)
        }
        Prune::Present { leaf } => !values(leaf).is_empty(),
        Prune::Lacks { leaf, beside } => values(leaf).is_empty() && !values(beside).is_empty(),
        _ => false,
    }
}

fn matching(condition: &Prune) -> BTreeSet<String> {
    let rows = (0..ROWS).filter(|row| matches(*row, condition));
    rows.map(|row| format!("{row:05}")).collect()
}

fn range() -> impl Strategy<Value = Prune> {
    let bound = || prop::option::of(0usize..1100);
    (prop::sample::select(LEAVES.to_vec()), bound(), bound()).prop_map(|(leaf, from, to)| Prune::Range {
        leaf: leaf.into(),
        from: from.map(|from| number(leaf, from)),
        to: to.map(|to| number(leaf, to)),
    })
}

/// Periods with only one of their bounds.
fn lacks() -> impl Strategy<Value = Prune> {
    let bounds = ["effectivePeriod.start__start", "effectivePeriod.end__start"];
    any::<bool>().prop_map(move |is_start| Prune::Lacks {
        leaf: bounds[usize::from(!is_start)].into(),
        beside: bounds[usize::from(is_start)].into(),
    })
}

fn condition(leaf: impl Strategy<Value = Prune> + 'static) -> impl Strategy<Value = Prune> {
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Prune::And),
            prop::collection::vec(inner, 1..4).prop_map(Prune::Or),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn ranges_keep_the_rows_that_match(condition in condition(prop_oneof![5 => range(), 1 => lacks()])) {
        thread_local!(static FIXTURE: (tempfile::TempDir, Lake, Arc<Snapshot>) = fixture());
        FIXTURE.with(|(_, lake, snapshot)| {
            let (kept, _) = kept(lake, snapshot, condition.clone());
            let matching = matching(&condition);
            prop_assert!(matching.is_subset(&kept));
            // If pages leave only a few rows, these are not checked one by one.
            prop_assert!(kept == matching || kept.len() * 8 < ROWS, "{} of {}", matching.len(), kept.len());
            Ok(())
        })?;
    }

    #[test]
    fn other_conditions_lose_no_row_that_matches(condition in condition(prop_oneof![
        3 => range(),
        1 => lacks(),
        1 => prop::sample::select(LEAVES.to_vec()).prop_map(|leaf| Prune::Present { leaf: leaf.into() }),
        1 => Just(Prune::Keep),
    ])) {
        thread_local!(static FIXTURE: (tempfile::TempDir, Lake, Arc<Snapshot>) = fixture());
        FIXTURE.with(|(_, lake, snapshot)| {
            let (kept, _) = kept(lake, snapshot, condition.clone());
            prop_assert!(matching(&condition).is_subset(&kept));
            Ok(())
        })?;
    }
}

#[test]
fn what_does_not_match_is_not_decoded_and_the_account_says_so() {
    let (_dir, lake, snapshot) = fixture();
    let within = |leaf: &str, days: std::ops::Range<usize>| Prune::Range {
        leaf: leaf.into(),
        from: Some(number(leaf, days.start)),
        to: Some(number(leaf, days.end)),
    };
    let condition = Prune::Or(vec![
        within("effectiveDateTime__start", 100..130),
        within("effectivePeriod.start__start", 100..130),
    ]);
    let (rows, report) = kept(&lake, &snapshot, condition.clone());
    assert_eq!(rows, matching(&condition));
    assert!(!rows.is_empty());
    let step = report.steps["statistics' conditions, row by row"];
    assert_eq!((step.rows_in, step.rows_out), (ROWS as u64, rows.len() as u64));
    assert_eq!(report.steps["all"].rows_in, rows.len() as u64);
    assert_eq!(report.rows_filtered, (ROWS - rows.len()) as u64);
    // If statistics decide all rows, or none, no leaf is read.
    let (all, report) = kept(&lake, &snapshot, Prune::Or(vec![condition, Prune::Keep]));
    assert_eq!(all.len(), ROWS);
    assert!(!report.bytes_by_leaf.contains_key("effectiveDateTime__start"));
}

/// The offset and the length of a leaf's second page in a file.
fn second_page(path: &Path, leaf: &str) -> (usize, usize) {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = reader.parse_and_finish(&File::open(path).unwrap()).unwrap();
    let columns = metadata.file_metadata().schema_descr().columns();
    let at = columns
        .iter()
        .position(|column| column.path().string() == leaf)
        .unwrap();
    let page = &metadata.offset_index().unwrap()[0][at].page_locations()[1];
    (page.offset as usize, page.compressed_page_size as usize)
}

#[test]
fn a_page_that_says_it_is_shorter_is_an_error_and_no_other_rows() {
    let (_dir, lake, snapshot) = fixture();
    let path = snapshot.tables.values().next().unwrap().files[0].path.clone();
    let mut file = std::fs::read(&path).unwrap();
    let (at, length) = second_page(&path, "valueInteger");
    // The header's number of values: 1,024.
    let header = &mut file[at..at + length.min(24)];
    let count = header.windows(2).position(|bytes| bytes == [0x80, 0x10]).unwrap();
    header[count + 1] = 0;
    // The file looks like one of an earlier program without checksums. Checksums would report the damage before
    // anything is decoded.
    let key = memchr::memmem::rfind(&file, CHECKSUMS_KEY.as_bytes()).unwrap();
    file[key] = b'-';
    std::fs::write(&path, file).unwrap();
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let status = ItemMatch {
        leaves: vec!["status".into()],
        any_of: vec![vec![LeafTest::Is("final".into())]],
        label: "status".into(),
    };
    let request = ScanRequest {
        leaves: leaves(&["id"]),
        ..ScanRequest::default()
    };
    let range = Prune::Range {
        leaf: "valueInteger".into(),
        from: Some(100),
        to: Some(130),
    };
    let asked = [Asked::of_items(&status), everything().with_prune(range)];
    let error = try_scanned(&table, request, &asked).unwrap_err().to_string();
    assert!(error.ends_with(&format!("{} is damaged", path.display())), "{error}");
}

/// A decimal that the column of numbers cannot hold is only a text. Nothing in its row group is dropped by a range.
#[test]
fn a_decimal_that_is_only_text_may_be_in_any_range() {
    let is_huge: [fn(usize) -> bool; 3] = [|_| false, |row| row == 7, |_| true];
    for (is_huge, expected) in is_huge.into_iter().zip([[10, 0], [300, 300], [300, 300]]) {
        let (_dir, lake) = lake();
        let records: Vec<Record> = (0..300)
            .map(|row| {
                let value = if is_huge(row) { json!(1e30) } else { json!(row) };
                let json = json!({"resourceType": "Observation", "id": format!("{row:05}"), "status": "final",
                    "valueQuantity": {"value": value}});
                Record::new(json).of(&lake, "p")
            })
            .collect();
        let snapshot = commit(&lake, &records);
        let least = |from: usize| Prune::Range {
            leaf: "valueQuantity.value__number".into(),
            from: Some(number("valueQuantity.value__number", from)),
            to: None,
        };
        let found = [290, 1_000].map(|from| kept(&lake, &snapshot, least(from)).0.len());
        assert_eq!(found, expected);
    }
}

#[test]
fn what_keeps_most_rows_is_asked_no_further() {
    let (_dir, lake) = lake();
    for file in 0..3 {
        let records: Vec<Record> = (0..300)
            .map(|row| {
                let mut json = observation(row);
                json["id"] = format!("{file}-{row}").into();
                json["valueInteger"] = (row % 10).into();
                Record::new(json).of(&lake, "p")
            })
            .collect();
        commit(&lake, &records);
    }
    let least = |from: i128| Prune::Range {
        leaf: "valueInteger".into(),
        from: Some(from),
        to: None,
    };
    for (from, asked) in [(8, 900), (1, 600)] {
        let (rows, report) = kept(&lake, &lake.snapshot(), least(from));
        let step = report.steps["statistics' conditions, row by row"];
        assert!(rows.len() >= 90 * (10 - from as usize));
        assert!(step.rows_in <= asked, "{} rows", step.rows_in);
        assert_eq!(step.rows_in == 900, from == 8);
    }
}

/// A date of row `row`, in one of several precisions, with its start and end in microseconds. Some rows have none.
fn moment(row: usize, precisions: usize) -> Option<(String, i64, i64)> {
    let day = day(row * 7919 % 997);
    let (text, length) = match row % precisions {
        0 => (day.to_rfc3339_opts(SecondsFormat::Secs, true), Duration::seconds(1)),
        1 => (day.format("%Y-%m-%d").to_string(), Duration::days(1)),
        2 => (
            day.to_rfc3339_opts(SecondsFormat::Millis, true),
            Duration::milliseconds(1),
        ),
        _ => return None,
    };
    Some((text, day.timestamp_micros(), (day + length).timestamp_micros()))
}

/// A range of starts or ends, whose bounds often touch those of a date.
fn bound() -> impl Strategy<Value = Prune> {
    let near = || {
        prop::option::of((
            0usize..1_000,
            -2i128..3,
            prop::sample::select(vec![0i128, 1_000, 1_000_000, 86_400_000_000]),
        ))
    };
    (any::<bool>(), near(), near()).prop_map(|(is_start, from, to)| {
        let moment = |(n, by, length): (usize, i128, i128)| i128::from(day(n).timestamp_micros()) + by + length;
        Prune::Range {
            leaf: if is_start {
                "effectiveDateTime__start"
            } else {
                "effectiveDateTime__end"
            }
            .into(),
            from: from.map(moment),
            to: to.map(moment),
        }
    })
}

fn holds(condition: &Prune, start: i64, end: i64) -> bool {
    match condition {
        Prune::And(parts) => parts.iter().all(|part| holds(part, start, end)),
        Prune::Or(parts) => parts.iter().any(|part| holds(part, start, end)),
        Prune::Range { leaf, from, to } => {
            let value = i128::from(if leaf.ends_with("__start") { start } else { end });
            from.is_none_or(|from| from <= value) && to.is_none_or(|to| value <= to)
        }
        _ => false,
    }
}

/// The rows for which a condition decides the predicate, and whether the predicate was evaluated on any row.
fn decided(lake: &Lake, snapshot: &Arc<Snapshot>, condition: &Prune) -> (BTreeSet<String>, bool) {
    let times = |batch: &RecordBatch, name: &str| -> Vec<Option<i64>> {
        let column = batch.column_by_name(name).unwrap();
        column.as_primitive::<TimestampMicrosecondType>().iter().collect()
    };
    let (asked, of) = (Arc::new(AtomicBool::new(false)), condition.clone());
    let seen = asked.clone();
    let keep = move |batch: &RecordBatch| {
        seen.store(true, Ordering::Relaxed);
        let starts = times(batch, "effectiveDateTime__start").into_iter();
        let pairs = starts.zip(times(batch, "effectiveDateTime__end"));
        Ok(pairs
            .map(|pair| matches!(pair, (Some(start), Some(end)) if holds(&of, start, end)))
            .map(Some)
            .collect())
    };
    let read = leaves(&["effectiveDateTime__start", "effectiveDateTime__end"]);
    let predicate = Asked::of("when", read, Arc::new(keep)).decided_by(condition.clone());
    let table = lake.table(snapshot, type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves(&["id"]),
        ..ScanRequest::default()
    };
    let (rows, _) = scanned(&table, request, &[predicate]);
    (texts(&rows, "id").into_iter().collect(), asked.load(Ordering::Relaxed))
}

fn dated(precisions: usize) -> (tempfile::TempDir, Lake, Arc<Snapshot>) {
    let (dir, lake) = lake();
    let records: Vec<Record> = (0..ROWS)
        .map(|row| {
            let mut json = json!({"resourceType": "Observation", "id": format!("{row:05}"), "status": "final"});
            if let Some((text, ..)) = moment(row, precisions) {
                json["effectiveDateTime"] = text.into();
            }
            Record::new(json).of(&lake, "p")
        })
        .collect();
    let snapshot = commit(&lake, &records);
    (dir, lake, snapshot)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn dates_of_every_precision_are_decided_exactly(condition in condition(bound()), precisions in 1usize..5) {
        thread_local!(static FIXTURES: [(tempfile::TempDir, Lake, Arc<Snapshot>); 4] = [1, 2, 3, 4].map(dated));
        FIXTURES.with(|fixtures| {
            let (_, lake, snapshot) = &fixtures[precisions - 1];
            let (kept, was_asked) = decided(lake, snapshot, &condition);
            let of = |row: &usize| moment(*row, precisions).is_some_and(|(_, start, end)| holds(&condition, start, end));
            let expected: BTreeSet<String> = (0..ROWS).filter(of).map(|row| format!("{row:05}")).collect();
            prop_assert_eq!(&kept, &expected);
            // If pages leave only a few rows, the predicate decides those.
            prop_assert!(!was_asked || kept.len() * 256 < ROWS, "{} rows", kept.len());
            Ok(())
        })?;
    }
}
