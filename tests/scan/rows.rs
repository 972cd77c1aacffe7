//! What a population scan reads, prunes and returns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use datafusion::catalog::TableProvider;
use datafusion::prelude::{SessionConfig, SessionContext, col, lit};
use proptest::prelude::*;
use serde_json::{Value, json};
use tabularium::columns::conditions::Prune;
use tabularium::lake::scan::ScanReport;
use tabularium::lake::{Lake, Person, Row, ScanRequest, Snapshot};

use super::asked::{Asked, Keep, filtered, scanned};
use super::{collect, leaves, texts};
use crate::harness::records::{Record, application, commit, lake, type_named};
use crate::harness::shared;

/// An Observation with as many leaves as a laboratory's.
fn observation(n: usize, patient: &str) -> Value {
    let code = ["8480-6", "8462-4", "2093-3", "718-7", "29463-7"][n % 5];
    json!({
        "resourceType": "Observation", "id": format!("obs-{n:05}"),
        "meta": {"profile": ["http://hl7.org/fhir/us/core/StructureDefinition/us-core-observation-lab"]},
        "status": "final",
        "category": [{"coding": [{"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory",
            "display": "Laboratory"}]}],
        "code": {"coding": [{"system": "http://loinc.org", "code": code, "display": format!("Test {code}")}],
            "text": format!("Test {code}")},
        "subject": {"reference": format!("Patient/{patient}")},
        "encounter": {"reference": format!("Encounter/enc-{}", n / 3)},
        "effectiveDateTime": format!("20{:02}-{:02}-{:02}T08:{:02}:00+01:00", n % 23, n % 12 + 1, n % 28 + 1, n % 60),
        "issued": format!("20{:02}-{:02}-{:02}T09:{:02}:00.123Z", n % 23, n % 12 + 1, n % 28 + 1, n % 60),
        "valueQuantity": {"value": f64::from(n as u32 % 977) / 10.0, "unit": "mg/dL", "system": "http://unitsofmeasure.org",
            "code": "mg/dL"},
    })
}

fn population(people: usize, each: usize) -> (tempfile::TempDir, Lake, Arc<Snapshot>) {
    let (dir, lake) = lake();
    let records: Vec<Record> = (0..people * each)
        .map(|n| {
            let patient = format!("p{}", n / each);
            Record::new(observation(n, &patient)).of(&lake, &patient)
        })
        .collect();
    let snapshot = commit(&lake, &records);
    (dir, lake, snapshot)
}

#[test]
fn a_query_reads_the_bytes_of_its_leaves() {
    let (_dir, lake, snapshot) = population(100, 50);
    hold_to_a_quarter(&lake, &snapshot);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_query_reads_the_bytes_of_its_leaves_of_real_records() {
    let folder = shared();
    let (_dir, lake) = lake();
    let mut records = Vec::new();
    for entry in std::fs::read_dir(folder.join("data/synthea")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let bundle: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let resources = bundle["entry"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["resource"].clone());
            let observations = resources.filter(|resource| resource["resourceType"] == "Observation");
            records.extend(observations.map(|json| {
                let subject = json["subject"]["reference"].as_str().unwrap().to_owned();
                Record::new(json).of(&lake, &subject)
            }));
        }
    }
    assert!(records.len() > 1000);
    let snapshot = commit(&lake, &records);
    hold_to_a_quarter(&lake, &snapshot);
}

/// Checks that `code` and `valueQuantity` of all Observations take at most a quarter of the file's bytes outside of
/// `resource`.
fn hold_to_a_quarter(lake: &Lake, snapshot: &Arc<Snapshot>) {
    let table = lake.table(snapshot, type_named("Observation"), &application("local"));
    let file = &snapshot
        .table(tabularium::lake::Mode::Live, type_named("Observation"))
        .unwrap()
        .files[0];
    let request = ScanRequest {
        leaves: leaves(&[
            "code.coding.system",
            "code.coding.code",
            "valueQuantity.value__number",
            "valueQuantity.unit",
        ]),
        ..ScanRequest::default()
    };
    let provider = table.provider(request);
    let rows = collect(&provider).num_rows() as u64;
    let report = provider.report();
    assert_eq!((rows, report.rows_out), (file.rows, file.rows));
    let metadata = parquet::file::reader::SerializedFileReader::new(std::fs::File::open(&file.path).unwrap()).unwrap();
    let metadata = parquet::file::reader::FileReader::metadata(&metadata).clone();
    let columns = || metadata.row_groups().iter().flat_map(|group| group.columns());
    let resource: i64 = columns()
        .filter(|c| c.column_path().string() == "resource")
        .map(|c| c.compressed_size())
        .sum();
    let outside = file.bytes - resource as u64;
    assert!(
        report.bytes() > 0 && report.bytes() * 4 <= outside,
        "{} of {outside} bytes: {report:?}",
        report.bytes()
    );
    assert!(
        report
            .bytes_by_leaf
            .keys()
            .all(|leaf| leaf.starts_with("code.") || leaf.starts_with("valueQuantity.")),
        "{report:?}"
    );
}

#[test]
fn a_persons_rows_are_found_without_reading_the_others() {
    let (_dir, lake, snapshot) = population(100, 50);
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let owner = lake.owner_of("local", "p42");
    let request = ScanRequest {
        leaves: leaves(&["code.coding.code"]),
        owners: Some(vec![owner]),
        ..ScanRequest::default()
    };
    let provider = table.provider(request);
    assert_eq!(collect(&provider).num_rows(), 50);
    let report = provider.report();
    assert_eq!((report.rows_out, report.rows_pruned), (50, 4950));
    let batch = table
        .person_batch(Person::Owner(owner), &leaves(&["subject.reference__id"]))
        .unwrap()
        .batch;
    let subjects = batch.column_by_name("subject").unwrap().as_struct();
    let subjects = subjects.column_by_name("reference__id").unwrap().as_string::<i32>();
    assert!(subjects.len() == 50 && subjects.iter().all(|subject| subject == Some("p42")));
    let names: Vec<String> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    assert_eq!(names, ["subject", "id", "last_updated", "__file", "__row"]);
    let nobody = ScanRequest {
        owners: Some(vec![7]),
        ..ScanRequest::default()
    };
    let provider = table.provider(nobody);
    assert_eq!(collect(&provider).num_rows(), 0);
    assert_eq!(
        provider.report(),
        ScanReport {
            files: 1,
            files_pruned: 1,
            prune_time: provider.report().prune_time,
            ..ScanReport::default()
        }
    );
}

/// Keeps rows with one of these codes.
fn code_is(codes: &[&'static str]) -> Asked {
    let codes = codes.to_vec();
    let keep = move |batch: &RecordBatch| {
        let code = batch
            .column_by_name("code")
            .unwrap()
            .as_struct()
            .column_by_name("coding")
            .unwrap()
            .as_list::<i32>();
        let matches = |row: usize| {
            let items = code.value(row);
            let values = items.as_struct().column_by_name("code").unwrap().as_string::<i32>();
            values.iter().flatten().any(|value| codes.contains(&value))
        };
        Ok((0..code.len())
            .map(|row| Some(code.is_valid(row) && matches(row)))
            .collect::<BooleanArray>())
    };
    Asked::of("code", leaves(&["code.coding.code"]), Arc::new(keep))
}

#[test]
fn a_predicate_decides_before_the_rest_is_read() {
    let (_dir, lake, snapshot) = population(100, 50);
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let request = || ScanRequest {
        leaves: leaves(&["id", "code.coding.display", "resource"]),
        ..ScanRequest::default()
    };
    let (batch, report) = scanned(&table, request(), &[code_is(&["718-7"])]);
    let expected: Vec<String> = (0..5000)
        .filter(|n| n % 5 == 3)
        .map(|n| format!("obs-{n:05}"))
        .collect();
    let mut found = texts(&batch, "id");
    found.sort();
    assert_eq!(found, expected);
    for (id, resource) in texts(&batch, "id").iter().zip(texts(&batch, "resource")) {
        let json: Value = serde_json::from_str(&resource).unwrap();
        assert_eq!(
            (&json["id"], &json["code"]["coding"][0]["code"]),
            (&json!(id), &json!("718-7"))
        );
    }
    assert_eq!((report.rows_filtered, report.rows_out), (4000, 1000));
    let (none, report) = scanned(&table, request(), &[code_is(&["718-7"]), code_is(&["8480-6"])]);
    assert_eq!(none.num_rows(), 0);
    assert!(!report.bytes_by_leaf.contains_key("resource"));
}

#[test]
fn filters_and_limits_of_a_plan_reach_the_scan() {
    let (_dir, lake, snapshot) = population(100, 50);
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let provider = table.provider(ScanRequest {
        leaves: leaves(&["id", "status", "resource"]),
        ..ScanRequest::default()
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let run = |frame: datafusion::dataframe::DataFrame| -> usize {
        let batches = runtime.block_on(frame.collect()).unwrap();
        batches.iter().map(RecordBatch::num_rows).sum()
    };
    let frame = || context.read_table(provider.clone()).unwrap();
    assert_eq!(
        run(frame()
            .filter(col("id").gt_eq(lit("obs-04990")))
            .unwrap()
            .select_columns(&["resource"])
            .unwrap()),
        10
    );
    assert_eq!(provider.report().rows_filtered, 4990);
    assert_eq!(run(frame().filter(col("status").eq(lit("nothing"))).unwrap()), 0);
    let before = provider.report();
    assert_eq!(run(frame().limit(0, Some(7)).unwrap()), 7);
    assert_eq!(provider.report().rows_out - before.rows_out, 7);
    assert_eq!(runtime.block_on(frame().count()).unwrap(), 5000);
    let plan = runtime
        .block_on(
            frame()
                .filter(col("id").eq(lit("obs-00001")))
                .unwrap()
                .create_physical_plan(),
        )
        .unwrap();
    let shown = datafusion::physical_plan::displayable(plan.as_ref())
        .indent(false)
        .to_string();
    expect_test::expect![[r#"
        CooperativeExec
          LakeScanExec: columns=[id, resource, status, __file, __row], prune=[id = 'obs-00001'], items=[id = 'obs-00001']
    "#]]
    .assert_eq(&shown);
}

/// Conditions, each with an equivalent predicate.
fn conditions() -> impl Strategy<Value = (Prune, fn(&Value, i64) -> bool, i64)> {
    let code: fn(&Value, i64) -> bool = |json, n| json["code"]["coding"][0]["code"] == CODES[n as usize % CODES.len()];
    let value: fn(&Value, i64) -> bool = |json, n| json["valueQuantity"]["value"].as_f64().unwrap() >= n as f64;
    let year: fn(&Value, i64) -> bool =
        |json, n| json["issued"].as_str().unwrap()[2..4].parse::<i64>().unwrap() == n % 23;
    prop_oneof![
        (0i64..6).prop_map(move |n| (
            Prune::Text {
                leaf: "code.coding.code".into(),
                any_of: vec![CODES[n as usize].into()]
            },
            code,
            n
        )),
        (0i64..120).prop_map(move |n| {
            let from = Some(i128::from(n) * 1_000_000_000_000_000_000);
            (
                Prune::Range {
                    leaf: "valueQuantity.value__number".into(),
                    from,
                    to: None,
                },
                value,
                n,
            )
        }),
        (0i64..23).prop_map(move |n| {
            let start = |year: i64| {
                chrono::NaiveDate::from_ymd_opt(2000 + year as i32, 1, 1)
                    .unwrap()
                    .and_hms_opt(0, 0, 0)
                    .unwrap()
                    .and_utc()
                    .timestamp_micros()
            };
            (Prune::overlaps("issued", Some(start(n)), Some(start(n + 1))), year, n)
        }),
    ]
}

const CODES: [&str; 6] = ["8480-6", "8462-4", "2093-3", "718-7", "29463-7", "none"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn pruning_loses_no_row_that_matches((prune, matches, n) in conditions(), or in conditions(), all in any::<bool>()) {
        thread_local!(static FIXTURE: Clustered = clustered());
        FIXTURE.with(|(_, lake, snapshot, rows)| {
            let table = lake.table(snapshot, type_named("Observation"), &application("local"));
            let both = if all { Prune::And(vec![prune, or.0.clone()]) } else { Prune::Or(vec![prune, or.0.clone()]) };
            let request = ScanRequest { leaves: leaves(&["id"]), ..ScanRequest::default() };
            let (kept, _) = scanned(&table, request, &[Asked::refuted_by(both)]);
            let kept: BTreeSet<String> = texts(&kept, "id").into_iter().collect();
            for row in rows {
                let (left, right) = (matches(row, n), or.1(row, or.2));
                let matching = if all { left && right } else { left || right };
                prop_assert!(!matching || kept.contains(row["id"].as_str().unwrap()), "{row} is lost");
            }
            Ok(())
        })?;
    }
}

type Clustered = (tempfile::TempDir, Lake, Arc<Snapshot>, Vec<Value>);

/// Rows whose values increase with their position, so that page statistics are selective.
fn clustered() -> Clustered {
    let (dir, lake) = lake();
    let rows: Vec<Value> = (0..6000)
        .map(|n| {
            let mut json = observation(n / 1300, "p");
            json["id"] = json!(format!("{n:05}"));
            json["valueQuantity"]["value"] = json!(n as f64 / 60.0);
            json["issued"] = json!(format!("20{:02}-06-01T00:00:00Z", n / 300));
            json
        })
        .collect();
    let records: Vec<Record> = rows
        .iter()
        .map(|json| Record::new(json.clone()).of(&lake, "p"))
        .collect();
    let snapshot = commit(&lake, &records);
    (dir, lake, snapshot, rows)
}

#[test]
fn statistics_spare_pages() {
    let (_dir, lake, snapshot, _) = clustered();
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let scan = |prune: Prune| {
        let request = ScanRequest {
            leaves: leaves(&["id"]),
            ..ScanRequest::default()
        };
        scanned(&table, request, &[Asked::refuted_by(prune)]).1
    };
    let text = |leaf: &str, value: &str| Prune::Text {
        leaf: leaf.into(),
        any_of: vec![value.into()],
    };
    assert_eq!(scan(Prune::Keep).rows_pruned, 0);
    let report = scan(Prune::Range {
        leaf: "valueQuantity.value__number".into(),
        from: None,
        to: Some(0),
    });
    assert_eq!(report.rows_out, 1024);
    assert_eq!(scan(text("id", "00001")).rows_out, 1024);
    assert_eq!(scan(text("code.coding.code", "zzz")).row_groups_pruned, 1);
    assert_eq!(scan(text("bodySite.text", "arm")).files_pruned, 1);
    assert_eq!(
        scan(Prune::Present {
            leaf: "code.coding".into()
        })
        .rows_out,
        6000
    );
    assert_eq!(scan(Prune::Nothing).rows_out, 0);
}

#[test]
fn resources_come_in_the_order_asked_for() {
    let (_dir, lake, snapshot) = population(20, 100);
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let wanted = ["obs-01999", "obs-00000", "obs-00777", "obs-00000", "obs-00778"];
    let places: Vec<_> = wanted.iter().map(|id| table.locate(id).unwrap().unwrap()).collect();
    let rows = table.resources(&places).unwrap();
    let ids: Vec<&str> = rows.iter().map(|row: &Row| row.id.as_str()).collect();
    assert_eq!(ids, wanted);
    for row in &rows {
        let n: usize = row.id[4..].parse().unwrap();
        let json: Value = serde_json::from_slice(&row.resource).unwrap();
        assert_eq!(json, observation(n, &format!("p{}", n / 100)));
        assert_eq!((row.version, row.last_updated), (1, snapshot.time));
    }
    assert!(table.resources(&[]).unwrap().is_empty());
}

/// An aborted search drops its stream. The task must yield for that, even if conditions take long and keep no row.
#[test]
fn a_scan_pauses_while_its_conditions_take_long() {
    const ROWS: usize = 9_000;
    let (_dir, lake) = lake();
    let basic = |at: usize| Record::new(json!({"resourceType": "Basic", "id": format!("b{at:05}")}));
    let snapshot = commit(&lake, &(0..ROWS).map(basic).collect::<Vec<_>>());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        counted.fetch_add(batch.num_rows(), Ordering::Relaxed);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(12) {
            std::hint::spin_loop();
        }
        Ok(BooleanArray::from(vec![false; batch.num_rows()]))
    });
    let table = lake.table(&snapshot, type_named("Basic"), &application("local"));
    let slow = Asked::of("slow", leaves(&["id"]), keep);
    let (provider, filters) = filtered(&table, ScanRequest::default(), &[slow]);
    let context = SessionContext::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let state = context.state();
    let plan = runtime.block_on(provider.scan(&state, None, &filters, None)).unwrap();
    let mut batches = plan.execute(0, context.task_ctx()).unwrap();
    let mut polled = Context::from_waker(Waker::noop());
    let mut pauses = BTreeSet::new();
    while batches.as_mut().poll_next(&mut polled).is_pending() {
        pauses.insert(asked.load(Ordering::Relaxed));
    }
    assert!(pauses.iter().any(|so_far| (1..ROWS).contains(so_far)), "{pauses:?}");
    // Each row was checked once.
    assert_eq!(asked.load(Ordering::Relaxed), ROWS);
}
