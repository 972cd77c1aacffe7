//! A filter of a plan keeps the same rows as DataFusion's own evaluation, whatever part of it the scan takes over.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::catalog::TableProvider;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, col, lit, not};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use serde_json::json;
use tabularium::lake::ScanRequest;
use tabularium::lake::scan::expression;

use super::asked::{Asked, filtered};
use super::{collect, leaves, texts};
use crate::harness::records::{Record, application, commit, lake, type_named};

/// 60 Observations of three people, in three commits.
fn fixture() -> (tempfile::TempDir, tabularium::lake::Lake, Vec<i64>) {
    let (dir, lake) = lake();
    let mut times = Vec::new();
    for file in 0..3 {
        let records: Vec<Record> = (0..20)
            .map(|row| {
                let json = json!({"resourceType": "Observation", "id": format!("o{file}-{row:02}"),
                    "status": if row % 2 == 0 { "final" } else { "amended" }});
                Record::new(json).of(&lake, &format!("p{}", row % 3))
            })
            .collect();
        times.push(commit(&lake, &records).time);
    }
    (dir, lake, times)
}

fn is_final() -> Asked {
    let keep = |batch: &RecordBatch| {
        let status = batch.column_by_name("status").unwrap().as_string::<i32>();
        let is_final = status.iter().map(|status| Some(status == Some("final")));
        Ok(is_final.collect::<BooleanArray>())
    };
    Asked::of("status is final", leaves(&["status"]), Arc::new(keep))
}

#[test]
fn filters_leave_the_rows_that_evaluation_leaves() {
    let (_dir, lake, times) = fixture();
    let table = lake.table(&lake.snapshot(), type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves(&["id", "patient", "last_updated", "status"]),
        ..ScanRequest::default()
    };
    let (provider, _) = filtered(&table, request, &[]);
    let all = collect(&provider);
    let plain: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(all.schema(), vec![vec![all.clone()]]).unwrap());
    let moment = |time: i64| lit(ScalarValue::TimestampMicrosecond(Some(time), Some("UTC".into())));
    let predicate = || expression(Arc::new(is_final()), &provider.schema());
    let filters: Vec<Expr> = vec![
        col("patient").eq(lit("p1")),
        lit("p1").eq(col("patient")),
        col("patient").not_eq(lit("p1")),
        col("patient").in_list(vec![lit("p0"), lit("p2"), lit("nobody")], false),
        col("patient").in_list(vec![lit("p0"), lit("p2")], true),
        col("patient").in_list((0..9).map(|n| lit(format!("p{n}"))).collect(), false),
        col("patient").in_list(vec![lit("p0"), lit(ScalarValue::Utf8(None))], false),
        col("patient").is_null(),
        col("id").eq(lit("o1-07")),
        col("id").in_list(vec![lit("o1-07"), lit("o2-00"), lit("none")], false),
        col("id").gt(lit("o1-17")),
        col("id").eq(col("patient")),
        col("last_updated").gt_eq(moment(times[1])),
        col("last_updated").gt(moment(times[1])),
        col("last_updated").lt(moment(times[1])),
        moment(times[1]).lt(col("last_updated")),
        col("last_updated").lt_eq(moment(times[1])),
        col("last_updated").eq(moment(times[2])),
        col("last_updated").not_eq(moment(times[2])),
        col("patient").eq(lit("p1")).and(col("id").eq(lit("o0-04"))),
        col("patient").eq(lit("p1")).or(col("id").eq(lit("o0-05"))),
        col("patient").eq(lit("p1")).or(col("status").eq(lit("final"))),
        not(col("patient").eq(lit("p1")).or(col("id").eq(lit("o0-05")))),
        predicate(),
        not(predicate()),
        predicate().and(col("patient").eq(lit("p1"))),
        predicate().or(col("patient").eq(lit("p1"))),
        predicate().is_not_true(),
    ];
    let context = SessionContext::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut sizes = BTreeSet::new();
    for filter in filters {
        let found = |table: Arc<dyn TableProvider>| -> BTreeSet<String> {
            let frame = context.read_table(table).unwrap().filter(filter.clone()).unwrap();
            let batches = runtime.block_on(frame.collect()).unwrap();
            batches.iter().flat_map(|batch| texts(batch, "id")).collect()
        };
        let (scanned, expected) = (found(provider.clone()), found(plain.clone()));
        assert_eq!(scanned, expected, "{filter}");
        sizes.insert(scanned.len());
    }
    assert!(sizes.len() > 8, "there was something to compare: {sizes:?}");
}

/// A filter after a limit must be evaluated after it. There the predicate is evaluated like any function.
#[test]
fn a_predicate_above_a_limit_is_evaluated_there() {
    let (_dir, lake, _) = fixture();
    let table = lake.table(&lake.snapshot(), type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves(&["id"]),
        ..ScanRequest::default()
    };
    let (provider, mut filters) = filtered(&table, request, &[is_final()]);
    let filter = filters.pop().unwrap();
    let frame = SessionContext::new().read_table(provider.clone()).unwrap();
    let frame = frame.limit(0, Some(11)).unwrap().filter(filter).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let plan = runtime.block_on(frame.clone().create_physical_plan()).unwrap();
    let shown = displayable(plan.as_ref()).indent(false).to_string();
    assert!(shown.contains("FilterExec: [status is final]"), "{shown}");
    let batches = runtime.block_on(frame.collect()).unwrap();
    let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert!((1..11).contains(&found), "{found}");
    assert!(
        !batches
            .iter()
            .any(|batch| texts(batch, "status").iter().any(|status| status != "final"))
    );
}

#[test]
fn the_plan_says_what_the_scan_takes_over() {
    let (_dir, lake, _) = fixture();
    let table = lake.table(&lake.snapshot(), type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves(&["id", "patient", "last_updated"]),
        ..ScanRequest::default()
    };
    let (provider, filters) = filtered(&table, request, &[is_final()]);
    let predicate = || filters[0].clone();
    let moment = lit(ScalarValue::TimestampMicrosecond(Some(7), Some("UTC".into())));
    let texts = |count: usize| (0..count).map(|n| lit(format!("p{n}"))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut shown = String::new();
    for filter in [
        col("patient").eq(lit("p1")),
        col("patient").in_list(texts(2), false),
        col("id").in_list(texts(9), false),
        col("patient").in_list(texts(2), true),
        col("last_updated").gt(moment.clone()),
        moment.clone().gt_eq(col("last_updated")),
        predicate(),
        predicate()
            .and(col("last_updated").lt(moment.clone()))
            .and(col("id").eq(lit("o1"))),
        col("patient").eq(lit("p1")).or(col("last_updated").lt(moment)),
        predicate().or(col("id").eq(lit("o1"))),
        not(predicate()),
    ] {
        let frame = SessionContext::new().read_table(provider.clone()).unwrap();
        let frame = frame.filter(filter).unwrap().select_columns(&["id"]).unwrap();
        let plan = runtime.block_on(frame.create_physical_plan()).unwrap();
        let plan = displayable(plan.as_ref()).indent(false).to_string();
        assert!(!plan.contains("FilterExec"), "{plan}");
        shown.push_str(plan.lines().last().unwrap().trim());
        shown.push('\n');
    }
    expect_test::expect![[r#"
        LakeScanExec: columns=[id], prune=[patient = 'p1'], items=[patient = 'p1']
        LakeScanExec: columns=[id], prune=[(patient = 'p0' or patient = 'p1')], items=[patient = 'p0' or patient = 'p1']
        LakeScanExec: columns=[id], prune=[id in 9 texts], items=[id in 9 texts]
        LakeScanExec: columns=[id], predicates=[patient != Utf8("p0"); patient != Utf8("p1")]
        LakeScanExec: columns=[id], prune=[last_updated >= 8], predicates=[last_updated > TimestampMicrosecond(7, Some("UTC"))]
        LakeScanExec: columns=[id], prune=[last_updated <= 7], predicates=[last_updated <= TimestampMicrosecond(7, Some("UTC"))]
        LakeScanExec: columns=[id], predicates=[status is final]
        LakeScanExec: columns=[id], prune=[(id = 'o1' and last_updated <= 6)], items=[id = 'o1'], predicates=[last_updated < TimestampMicrosecond(7, Some("UTC")); status is final]
        LakeScanExec: columns=[id], prune=[(patient = 'p1' or last_updated <= 6)], predicates=[patient = Utf8("p1") OR last_updated < TimestampMicrosecond(7, Some("UTC"))]
        LakeScanExec: columns=[id], predicates=[[status is final](status) OR id = Utf8("o1")]
        LakeScanExec: columns=[id], predicates=[NOT [status is final](status)]
    "#]].assert_eq(&shown);
}
