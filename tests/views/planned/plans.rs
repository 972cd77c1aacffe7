//! `explain` for views: the request and its plan, from the rows down to the scan's filters.

use std::fmt::Write as _;
use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::lake::scan::Watch;
use tabularium::views::{Format, Page, Resources, Run, SharedRun, View};

use super::super::{run, table, view};
use crate::harness::records::{Record, application, commit, lake};

fn observations() -> (tempfile::TempDir, Lake) {
    let (folder, lake) = lake();
    let records: Vec<Record> = (0..12)
        .map(|number| {
            let patient = format!("p{}", number % 3);
            let observation = json!({"resourceType": "Observation", "id": format!("o{number:02}"),
                "status": if number % 4 == 0 { "final" } else { "amended" },
                "subject": {"reference": format!("Patient/{patient}")},
                "code": {"coding": [{"system": "s", "code": format!("c{}", number % 2)}, {"code": "x"}]},
                "component": [{"valueInteger": number}, {"valueInteger": 7}]});
            Record::new(observation).of(&lake, &patient)
        })
        .collect();
    commit(&lake, &records);
    (folder, lake)
}

fn definition(name: &str, selects: &Value, condition: Option<&str>) -> Value {
    let mut view = json!({"name": name, "resource": "Observation", "select": selects});
    if let Some(condition) = condition {
        view["where"] = json!([{"path": condition}]);
    }
    view
}

fn ids() -> Value {
    json!([{"column": [{"name": "id", "path": "id"}]}])
}

fn codings() -> Value {
    json!([{"column": [{"name": "id", "path": "id"}]},
        {"forEach": "code.coding", "column": [{"name": "code", "path": "code"}]}])
}

fn paged(offset: usize, count: Option<usize>) -> Resources {
    Resources {
        page: Some(Page { offset, count }),
        ..Resources::default()
    }
}

/// The plan of each view.
fn check(questions: &[(Value, Resources, Option<usize>)], expected: &Expect) {
    let (_folder, lake) = observations();
    let mut shown = String::new();
    for (definition, resources, limit) in questions {
        let run = run(&lake, &application("local"), &view(definition), resources, *limit);
        shown.push_str(&run.explain());
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

#[test]
fn the_scan_takes_over_what_a_view_asks_of_resources() {
    let all = Resources::default;
    let some = Resources {
        patients: Some(vec!["p1".to_owned()]),
        since: Some(0),
        ..Resources::default()
    };
    check(
        &[
            (definition("all", &ids(), None), all(), None),
            (definition("codings", &codings(), None), all(), None),
            (definition("final", &ids(), Some("status = 'final'")), all(), None),
            (
                definition("one", &ids(), Some("code.coding.where(system = 's').code = 'c1'")),
                all(),
                None,
            ),
            (
                definition("asked", &ids(), Some("status.lower() = 'final'")),
                all(),
                None,
            ),
            (definition("some", &codings(), Some("status = 'final'")), some, None),
        ],
        &expect![[r#"
            OrderedLimit: take=all
              View: all
                TableScan: Observation projection=[id]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id]
                LakeScanExec: columns=[id]

            OrderedLimit: take=all
              View: codings
                TableScan: Observation projection=[id, code]
            OrderedLimitExec: take=all
              ViewExec: columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id]
                LakeScanExec: columns=[id, code.coding.code]

            OrderedLimit: take=all
              View: final
                TableScan: Observation projection=[id], full_filters=[[where status = 'final'](Observation.status)]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id]
                LakeScanExec: columns=[id], prune=[status = 'final'], items=[item [status = 'final']], predicates=[where status = 'final']

            OrderedLimit: take=all
              View: one
                TableScan: Observation projection=[id], full_filters=[[where code.coding.where(system = 's').code = 'c1'](Observation.code)]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id]
                LakeScanExec: columns=[id], prune=[(code.coding.code = 'c1' and code.coding.system = 's')], items=[item [code.coding.code = 'c1']; item [code.coding.system = 's']], predicates=[where code.coding.where(system = 's').code = 'c1']

            OrderedLimit: take=all
              View: asked
                TableScan: Observation projection=[id], full_filters=[[where status.lower() = 'final'](Observation.status)]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id]
                LakeScanExec: columns=[id], predicates=[where status.lower() = 'final']

            OrderedLimit: take=all
              View: some
                TableScan: Observation projection=[id, code], full_filters=[Observation.patient IN ([Utf8("p1")]), Observation.last_updated >= TimestampMicrosecond(0, Some("UTC")), [where status = 'final'](Observation.status)]
            OrderedLimitExec: take=all
              ViewExec: columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id]
                LakeScanExec: columns=[id, code.coding.code], prune=[(patient = 'p1' and last_updated >= 0 and status = 'final')], items=[patient = 'p1'; item [status = 'final']], predicates=[last_updated >= TimestampMicrosecond(0, Some("UTC")); where status = 'final']

        "#]],
    );
}

#[test]
fn pages_and_limits_are_operators() {
    let filtered = definition("final", &ids(), Some("status = 'final'"));
    check(
        &[
            (definition("limited", &codings(), None), Resources::default(), Some(5)),
            (definition("paged", &ids(), None), paged(2, Some(3)), None),
            (filtered.clone(), paged(2, Some(3)), None),
            (filtered, paged(4, None), Some(1)),
        ],
        &expect![[r#"
            OrderedLimit: take=5
              View: limited
                TableScan: Observation projection=[id, code]
            OrderedLimitExec: take=5
              ViewExec: columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id]
                LakeScanExec: columns=[id, code.coding.code]

            OrderedLimit: take=all
              View: paged
                OrderedLimit: skip=2, take=3
                  TableScan: Observation projection=[id]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id]
                OrderedLimitExec: skip=2, take=3
                  LakeScanExec: columns=[id], limit=5

            OrderedLimit: take=all
              View: final where [status = 'final']
                OrderedLimit: skip=2, take=3
                  TableScan: Observation projection=[id, status]
            OrderedLimitExec: take=all
              ViewExec: columns=[id], leaves=[_id, id], where=[status = 'final']
                OrderedLimitExec: skip=2, take=3
                  LakeScanExec: columns=[id, status], limit=5

            OrderedLimit: take=1
              View: final where [status = 'final']
                OrderedLimit: skip=4, take=all
                  TableScan: Observation projection=[id, status]
            OrderedLimitExec: take=1
              ViewExec: columns=[id], leaves=[_id, id], where=[status = 'final']
                OrderedLimitExec: skip=4, take=all
                  LakeScanExec: columns=[id, status]

        "#]],
    );
}

fn shared(lake: &Lake, views: &[Value], resources: &Resources, limit: Option<usize>) -> SharedRun {
    let views: Vec<Arc<View>> = views.iter().map(view).collect();
    let table = table(lake, &application("local"), &views[0]);
    futures::executor::block_on(SharedRun::new(&table, views, resources, limit)).unwrap()
}

#[test]
fn several_views_are_one_plan_over_one_scan() {
    let (_folder, lake) = observations();
    let views = [
        definition("ids", &ids(), Some("status = 'final'")),
        definition("codings", &codings(), Some("code.exists()")),
    ];
    let mut shown = String::new();
    for (resources, limit) in [(Resources::default(), None), (paged(1, Some(4)), Some(2))] {
        writeln!(shown, "{}", shared(&lake, &views, &resources, limit).explain()).unwrap();
    }
    expect![[r#"
        2 views share one scan
        OrderedLimit: take=all
          Views: ids where [status = 'final'], codings where [code.exists()]
            TableScan: Observation projection=[id, status, code], full_filters=[[where status = 'final' or where code.exists()](Observation.status, Observation.code)]
        OrderedLimitExec: take=all
          ViewsExec: ids=[columns=[id], leaves=[_id, id], where=[status = 'final']], codings=[columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id], where=[code.exists()]]
            LakeScanExec: columns=[id, status, code.coding.code], prune=[(status = 'final' or code exists)], predicates=[where status = 'final' or where code.exists()]

        2 views share one scan
        OrderedLimit: take=all
          Views: ids where [status = 'final'], codings where [code.exists()], limit=2 each
            OrderedLimit: skip=1, take=4
              TableScan: Observation projection=[id, status, code]
        OrderedLimitExec: take=all
          ViewsExec: ids=[columns=[id], leaves=[_id, id], where=[status = 'final']], codings=[columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id], where=[code.exists()]], limit=2 each
            OrderedLimitExec: skip=1, take=4
              LakeScanExec: columns=[id, status, code.coding.code], limit=5

    "#]].assert_eq(&shown);
}

#[test]
fn a_plan_that_has_run_says_what_its_operators_did() {
    let (_folder, lake) = observations();
    let views = [
        definition("ids", &ids(), Some("status = 'final'")),
        definition("codings", &codings(), None),
    ];
    let together = shared(&lake, &views, &Resources::default(), None);
    let format = Format::Csv { header: false };
    assert!(together.rows().events(format).all(|event| event.is_ok()));
    let alone = run(
        &lake,
        &application("local"),
        &view(&views[1]),
        &Resources::default(),
        Some(5),
    );
    assert_eq!(
        alone
            .rows()
            .batches()
            .map(|batch| batch.unwrap().num_rows())
            .sum::<usize>(),
        5
    );
    for (explained, operator, metrics) in [
        (
            together.explain(),
            "ViewsExec: ",
            vec!["rows_of_ids=3", "rows_of_codings=24"],
        ),
        (together.explain(), "OrderedLimitExec: take=all", vec!["parts_begun=1"]),
        (
            together.explain(),
            "LakeScanExec: ",
            vec!["output_rows=12", "row_groups=1"],
        ),
        (
            alone.explain(),
            "OrderedLimitExec: take=5",
            vec!["output_rows=5", "parts_begun=1"],
        ),
        (alone.explain(), "ViewExec: ", vec!["output_rows=24"]),
    ] {
        let line = explained.lines().find(|line| line.trim_start().starts_with(operator));
        let (_, noted) = line.unwrap().split_once(", metrics=[").unwrap();
        for metric in metrics {
            assert!(noted.contains(metric), "{metric}: {noted}");
        }
    }
}

/// After a run the plan says what the scan read, skipped and why, by page and by leaf.
#[test]
fn a_run_says_what_its_scan_skipped_and_why() {
    let (_folder, lake) = lake();
    let records = (0..3_000).map(|number| {
        Record::new(json!({"resourceType": "Observation", "id": format!("o{number:04}"), "valueInteger": number}))
    });
    commit(&lake, &records.collect::<Vec<_>>());
    let newest = view(&definition("newest", &ids(), Some("value.ofType(integer) >= 2900")));
    let none = view(&definition("none", &ids(), Some("value.ofType(integer) >= 5000")));
    let watch = Arc::<Watch>::default();
    let told = |view: &Arc<View>| {
        let table = table(&lake, &application("local"), view).watched(&watch);
        let run = futures::executor::block_on(Run::new(&table, view.clone(), &Resources::default(), None)).unwrap();
        assert!(!run.explain().contains("files "), "it has not run");
        let rows: usize = run.rows().batches().map(|batch| batch.unwrap().num_rows()).sum();
        (rows, run.explain(), run.scans().remove(0).to_json())
    };
    let (rows, text, json) = told(&newest);
    assert_eq!(rows, 100);
    for part in [
        "  Observation: scanned for id",
        "    files       1 of 1 read",
        "    row groups  1 of 1 met are read",
        "    pages       2 of 3 refuted: statistics of valueInteger",
        "    rows        3000 met, 2048 pruned, 852 dropped by conditions, 100 out",
        "  valueInteger",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(json["pages"], json!({"valueInteger": {"met": 3, "refuted": 2}}));
    assert!(json["bytesByLeaf"]["valueInteger"].as_u64().unwrap() > 0, "{json}");
    let (rows, text, _) = told(&none);
    assert_eq!(rows, 0);
    assert!(text.contains("1 skipped: statistics of valueInteger"), "{text}");
}
