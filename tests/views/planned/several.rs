//! Several views over one scan: each gives the same result as alone, whatever happens to the others, and the plan shows
//! the shared parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::views::{Event, Events, Format, Page, Resources, SharedRows, SharedRun, View};

use super::super::suite::{cases, identified};
use super::super::{Resource, rows_of, run, table, view, written};
use crate::harness::records::{Record, application, commit, lake};
use crate::harness::shared;

/// The result of each view: its output or its error.
fn outputs(views: usize, events: Events) -> Vec<Result<String, String>> {
    let mut outputs: Vec<Result<Vec<u8>, String>> = (0..views).map(|_| Ok(Vec::new())).collect();
    let mut ended = vec![false; views];
    for event in events {
        match event.unwrap() {
            Event::Piece { view, bytes, .. } => {
                assert!(!ended[view]);
                outputs[view].as_mut().unwrap().extend(bytes);
            }
            Event::Failed { view, error } => {
                assert!(!std::mem::replace(&mut ended[view], true));
                outputs[view] = Err(error.to_string());
            }
            Event::Done { view, .. } => assert!(!std::mem::replace(&mut ended[view], true)),
        }
    }
    assert!(ended.iter().all(|ended| *ended));
    let text = |output: Result<Vec<u8>, String>| output.map(|bytes| String::from_utf8(bytes).unwrap());
    outputs.into_iter().map(text).collect()
}

fn plan(lake: &Lake, views: &[Arc<View>], resources: &Resources, limit: Option<usize>) -> SharedRun {
    let table = table(lake, &application("local"), &views[0]);
    futures::executor::block_on(SharedRun::new(&table, views.to_vec(), resources, limit)).unwrap()
}

fn observations() -> (tempfile::TempDir, Lake) {
    let (folder, lake) = lake();
    let records: Vec<Record> = (0..40)
        .map(|number| {
            let observation = json!({"resourceType": "Observation", "id": format!("o{number:02}"),
                "status": if number % 4 == 0 { "final" } else { "amended" },
                "code": {"coding": [{"system": "s", "code": format!("c{}", number % 8)}, {"code": "x"}]},
                "valueInteger": number, "note": [{"text": "one"}, {"text": "two"}]});
            Record::new(observation).of(&lake, "a")
        })
        .collect();
    commit(&lake, &records);
    (folder, lake)
}

fn definition(name: &str, column: &str, condition: Option<&str>) -> Value {
    let mut view = json!({"name": name, "resource": "Observation",
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "x", "path": column}]}]});
    if let Some(condition) = condition {
        view["where"] = json!([{"path": condition}]);
    }
    view
}

#[test]
fn views_that_share_a_scan_give_what_each_gives_alone() {
    let (_folder, lake) = observations();
    let views = [
        definition("all", "value.ofType(integer)", None),
        definition("final", "code.coding.code.first()", Some("status = 'final'")),
        definition(
            "some",
            "code.coding.first().code",
            Some("code.coding.code contains 'c3'"),
        ),
        definition("none", "status", Some("status = 'draft'")),
    ]
    .map(|definition| view(&definition));
    let page = Resources {
        page: Some(Page {
            offset: 3,
            count: Some(20),
        }),
        ..Resources::default()
    };
    let mut rows = 0;
    for (resources, limit) in [
        (Resources::default(), None),
        (Resources::default(), Some(3)),
        (Resources::default(), Some(0)),
        (page, None),
    ] {
        for views in [&views[..], &views[1..], &views[..1]] {
            for format in [Format::Csv { header: true }, Format::Json, Format::Ndjson] {
                let together = plan(&lake, views, &resources, limit);
                let found = outputs(views.len(), together.rows().events(format));
                for (view, found) in views.iter().zip(found) {
                    let alone = run(&lake, &application("local"), view, &resources, limit);
                    let expected = written(alone.rows(), format).unwrap();
                    rows += expected.lines().count();
                    assert_eq!(found.unwrap(), expected);
                }
            }
        }
    }
    assert!(rows > 100, "there was something to compare");
}

#[test]
fn the_plan_shows_the_scan_that_is_shared() {
    let (_folder, lake) = observations();
    let explain = |views: &[Value], resources: &Resources| {
        let views: Vec<Arc<View>> = views.iter().map(view).collect();
        plan(&lake, &views, resources, None).explain()
    };
    let finals = definition("finals", "value.ofType(integer)", Some("status = 'final'"));
    let codes = definition("codes", "code.coding.code.first()", Some("code.exists()"));
    let notes = definition("notes", "note.text.first()", None);
    let since = Resources {
        since: Some(0),
        ..Resources::default()
    };
    expect![[r#"
        3 views share one scan
        OrderedLimit: take=all
          Views: finals where [status = 'final'], codes where [code.exists()], notes
            TableScan: Observation projection=[id, status, code, valueInteger, note], full_filters=[Observation.last_updated >= TimestampMicrosecond(0, Some("UTC"))]
        OrderedLimitExec: take=all
          ViewsExec: finals=[columns=[id, x], leaves=[_id, _valueInteger, id, valueInteger], where=[status = 'final']], codes=[columns=[id, x], leaves=[_id, code.coding._code, code.coding.code, id], where=[code.exists()]], notes=[columns=[id, x], leaves=[_id, id, note._text, note.text]]
            LakeScanExec: columns=[id, status, code.coding.code, valueInteger, note.text], prune=[last_updated >= 0], predicates=[last_updated >= TimestampMicrosecond(0, Some("UTC"))]
    "#]]
    .assert_eq(&explain(&[finals.clone(), codes.clone(), notes], &since));
    expect![[r#"
        2 views share one scan
        OrderedLimit: take=all
          Views: finals where [status = 'final'], codes where [code.exists()]
            TableScan: Observation projection=[id, status, code, valueInteger], full_filters=[[where status = 'final' or where code.exists()](Observation.status, Observation.code)]
        OrderedLimitExec: take=all
          ViewsExec: finals=[columns=[id, x], leaves=[_id, _valueInteger, id, valueInteger], where=[status = 'final']], codes=[columns=[id, x], leaves=[_id, code.coding._code, code.coding.code, id], where=[code.exists()]]
            LakeScanExec: columns=[id, status, code.coding.code, valueInteger], prune=[(status = 'final' or code exists)], predicates=[where status = 'final' or where code.exists()]
    "#]].assert_eq(&explain(&[finals.clone(), codes], &Resources::default()));
    expect![[r#"
        OrderedLimit: take=all
          Views: finals
            TableScan: Observation projection=[id, valueInteger], full_filters=[[where status = 'final'](Observation.status)]
        OrderedLimitExec: take=all
          ViewsExec: finals=[columns=[id, x], leaves=[_id, _valueInteger, id, valueInteger]]
            LakeScanExec: columns=[id, valueInteger], prune=[status = 'final'], items=[item [status = 'final']], predicates=[where status = 'final']
    "#]]
    .assert_eq(&explain(&[finals], &Resources::default()));
}

#[test]
fn a_view_that_fails_is_no_matter_of_the_others() {
    let (_folder, lake) = observations();
    let views = [
        definition("sound", "value.ofType(integer)", None),
        definition("several", "note.text", None),
        definition("where", "id", Some("note.text.single() = 'one'")),
        definition("other", "status", Some("status = 'final'")),
    ]
    .map(|definition| view(&definition));
    let format = Format::Csv { header: false };
    let found = outputs(
        4,
        plan(&lake, &views, &Resources::default(), None).rows().events(format),
    );
    for at in [0, 3] {
        let alone = run(&lake, &application("local"), &views[at], &Resources::default(), None);
        assert_eq!(found[at].as_ref().unwrap(), &written(alone.rows(), format).unwrap());
    }
    assert!(found[1].as_ref().unwrap_err().contains("column 'x' has 2 values"));
    assert!(found[2].as_ref().unwrap_err().contains("single"), "{:?}", found[2]);
    // A filter shared by all views is evaluated too, and its fault belongs only to the faulty view.
    let found = outputs(
        2,
        plan(&lake, &views[2..], &Resources::default(), None)
            .rows()
            .events(format),
    );
    assert!(found[0].is_err());
    assert_eq!(found[1].as_ref().unwrap().lines().count(), 10);
}

#[test]
fn documents_are_read_once_for_views_of_all_types() {
    let patient = json!({"resourceType": "Patient", "id": "p", "gender": "male"});
    let inner = json!({"resourceType": "Bundle", "id": "inner", "type": "batch", "entry": [{"resource": patient}]});
    let bundle = json!({"resourceType": "Bundle", "id": "b", "type": "batch", "entry": [
        {"resource": patient}, {"resource": {"resourceType": "Group", "id": "g"}}, {"resource": inner}]});
    let texts = [
        bundle.to_string(),
        json!({"resourceType": "Patient", "id": "q"}).to_string(),
    ];
    let ids = |resource_type: &str| {
        view(&json!({"resource": resource_type, "select": [{"column": [{"name": "id", "path": "id"}]}]}))
    };
    let views = vec![
        ids("Patient"),
        ids("Bundle"),
        ids("Group"),
        ids("Patient"),
        ids("Device"),
    ];
    let documents: Vec<Resource> = texts.iter().map(|text| Resource(text.clone().into_bytes())).collect();
    let together = SharedRows::of_documents(views.clone(), documents.into_iter(), None, None);
    let format = Format::Csv { header: false };
    let found = outputs(5, together.events(format));
    let found: Vec<&str> = found.iter().map(|text| text.as_ref().unwrap().as_str()).collect();
    assert_eq!(found, ["p\nq\n", "b\n", "g\n", "p\nq\n", ""]);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (view, found) in views.iter().zip(found) {
        assert_eq!(written(rows_of(view, &texts), format).unwrap(), found);
    }
}

/// All views of a suite's file together, over its resources. One view's columns must not change another's result.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn views_of_the_official_suite_agree_with_themselves_alone() {
    let folder = shared();
    let mut files: BTreeMap<String, (Vec<Arc<View>>, Vec<Value>)> = BTreeMap::new();
    for (name, case, resources) in cases(&folder.join("conformance/sql-on-fhir")) {
        let file = files.entry(name.split(':').next().unwrap().to_owned()).or_default();
        file.0
            .extend(View::parse(case["view"].to_string().as_bytes()).map(Arc::new));
        file.1 = resources;
    }
    let format = Format::Json;
    for (file, (views, resources)) in files {
        let texts: Vec<String> = resources.iter().map(Value::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let documents: Vec<Resource> = texts.iter().map(|text| Resource(text.as_bytes().to_vec())).collect();
        let together = SharedRows::of_documents(views.clone(), documents.into_iter(), None, None);
        let of_documents = outputs(views.len(), together.events(format));
        let (_folder, lake) = lake();
        let records: Vec<Record> = resources
            .iter()
            .enumerate()
            .map(|(at, one)| identified(one, at))
            .collect();
        commit(&lake, &records);
        let mut by_type: BTreeMap<_, Vec<Arc<View>>> = BTreeMap::new();
        for (view, found) in views.iter().zip(of_documents) {
            assert_eq!(
                found,
                written(rows_of(view, &texts), format),
                "{file} {:?}",
                view.name()
            );
            by_type.entry(view.resource()).or_default().push(view.clone());
        }
        for views in by_type.values() {
            let together = plan(&lake, views, &Resources::default(), None);
            for (view, found) in views.iter().zip(outputs(views.len(), together.rows().events(format))) {
                let alone = run(&lake, &application("local"), view, &Resources::default(), None);
                assert_eq!(found, written(alone.rows(), format), "{file} {:?}", view.name());
            }
        }
    }
}
