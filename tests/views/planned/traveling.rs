//! Plans of views, written as bytes and run in another process, give the same rows as here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::views::{Page, Resources, SharedRun, View};

use super::super::model::Case;
use super::super::suite::{cases, identified};
use super::super::{run, table, view};
use crate::harness::plans::Traveling;
use crate::harness::records::{self, Record, application};
use crate::harness::shared;

/// The views of the official suite, alone and together, each over the resources of its file.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_official_suites_plans_give_the_same_rows_in_another_process() {
    let folder = shared();
    type Named = (String, Arc<View>);
    let mut files: BTreeMap<String, (Vec<Value>, Vec<Named>)> = BTreeMap::new();
    let mut views = 0;
    for (name, case, resources) in cases(&folder.join("conformance/sql-on-fhir")) {
        let file = name.split(':').next().unwrap().to_owned();
        let (_, of_file) = files.entry(file).or_insert((resources, Vec::new()));
        if let Ok(view) = View::parse(case["view"].to_string().as_bytes()) {
            of_file.push((name, Arc::new(view)));
            views += 1;
        }
    }
    let (mut ran, mut with_rows) = (0, 0);
    for (resources, views) in files.values() {
        let (_folder, lake) = records::lake();
        let stored = resources.iter().enumerate().map(|(place, one)| identified(one, place));
        records::commit(&lake, &stored.collect::<Vec<Record>>());
        let (mut traveling, mut sound) = (Traveling::new(&lake), Vec::new());
        for (name, view) in views {
            let run = run(&lake, &application("local"), view, &Resources::default(), None);
            let is_sound = traveling.add(name, run.plan()).is_some();
            ran += usize::from(is_sound);
            sound.extend(is_sound.then(|| view.clone()));
        }
        together(&lake, sound, &mut traveling);
        with_rows += traveling.arrive();
    }
    assert!(
        views > 130 && ran + 5 > views && with_rows > 100,
        "{views} views, {ran} ran, {with_rows} with rows"
    );
}

/// The views of each resource type over one scan.
fn together(lake: &Lake, views: Vec<Arc<View>>, traveling: &mut Traveling) {
    let mut types: BTreeMap<_, Vec<Arc<View>>> = BTreeMap::new();
    for view in views {
        types.entry(view.resource()).or_default().push(view);
    }
    for views in types.into_values().filter(|views| views.len() > 1) {
        let run = shared_run(lake, views, Some(3));
        traveling.add("views over one scan", run.plan()).unwrap();
    }
}

fn shared_run(lake: &Lake, views: Vec<Arc<View>>, limit: Option<usize>) -> SharedRun {
    let table = table(lake, &application("local"), &views[0]);
    futures::executor::block_on(SharedRun::new(&table, views, &Resources::default(), limit)).unwrap()
}

/// Generated views: iterations, unions, repeats, constants, row numbers, alone and over one scan.
#[test]
fn generated_views_give_the_same_rows_in_another_process() {
    let byte = |at: usize, seed: usize| (at * 37 + seed * 11 + at * at * seed) as u8;
    let mut with_rows = 0;
    for seed in 0..6 {
        let of_resources: Vec<Vec<u8>> = (0..4)
            .map(|row| (0..60).map(|at| byte(at, row + seed)).collect())
            .collect();
        let definitions = (0..10).map(|view| {
            let of_view: Vec<u8> = (0..60).map(|at| byte(at, 10 * seed + view + 1)).collect();
            Case::new(&of_view, &of_resources)
        });
        let cases: Vec<Case> = definitions.collect();
        let (_folder, lake) = cases[0].lake();
        let mut traveling = Traveling::new(&lake);
        let mut views = Vec::new();
        for case in &cases {
            let (view, rows) = (view(&case.definition()), case.rows().len());
            let run = run(&lake, &application("local"), &view, &Resources::default(), None);
            assert_eq!(traveling.add("a generated view", run.plan()).unwrap().len(), rows);
            views.push(view);
        }
        let together = shared_run(&lake, views, Some(5));
        traveling.add("generated views over one scan", together.plan()).unwrap();
        with_rows += traveling.arrive();
    }
    assert!(with_rows > 40, "{with_rows}");
}

/// Several views in one plan: their limit, and an error of one of them, in a process that only runs the plan.
#[test]
fn limits_and_errors_of_several_views_hold_where_their_plan_runs() {
    let (_folder, lake) = records::lake();
    let observations = (0..40).map(|number| {
        let codings: Vec<Value> = (0..1 + number % 3)
            .map(|at| json!({"code": format!("c{at}")}))
            .collect();
        Record::new(
            json!({"resourceType": "Observation", "id": format!("o{number:02}"), "status": "final",
            "code": {"coding": codings}}),
        )
    });
    records::commit(&lake, &observations.collect::<Vec<_>>());
    let of = |name: &str, each: &str, path: &str| {
        view(
            &json!({"resourceType": "ViewDefinition", "name": name, "status": "active", "resource": "Observation",
            "select": [{"forEach": each, "column": [{"name": "x", "path": path}]}]}),
        )
    };
    let (ids, codes) = (of("ids", "$this", "id"), of("codes", "code.coding", "code"));
    for limit in [1, 4] {
        let mut traveling = Traveling::new(&lake);
        let run = shared_run(&lake, vec![ids.clone(), codes.clone()], Some(limit));
        let rows = traveling.add("limit", run.plan()).unwrap();
        for column in ["rows0", "rows1"] {
            let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row).unwrap());
            let of_view: Vec<usize> = rows.filter_map(|row| Some(row[column].as_array()?.len())).collect();
            assert_eq!(of_view.iter().sum::<usize>(), limit, "{column}: {of_view:?}");
        }
        assert_eq!(traveling.arrive(), 1);
    }

    // Some rows have several codings.
    let faulty = of("faulty", "$this", "code.coding.code");
    let run = shared_run(&lake, vec![ids, faulty], None);
    let traveling = Traveling::new(&lake);
    assert!(traveling.rows(run.plan()).is_none());
    let file = traveling.file("faulty", &traveling.codec.encode(run.plan()).unwrap());
    let ran = traveling.run(&[file]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{error}");
    assert!(
        error.contains("column 'x' has ") && error.lines().count() == 1,
        "{error}"
    );
}

fn definition() -> Value {
    json!({"resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "Observation",
        "constant": [{"name": "least", "valueInteger": 3}],
        "where": [{"path": "value.ofType(integer) >= %least"}],
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "n", "path": "value.ofType(integer)"},
            {"name": "read", "path": "now().toString()"}]}]})
}

/// A plan contains all parameters of a run: filters, scope, page, and the time of `now()`.
#[test]
fn what_a_run_is_asked_for_travels_with_its_plan() {
    let (_folder, lake) = records::lake();
    let observations = (0..40).map(|number| {
        let observation = json!({"resourceType": "Observation", "id": format!("o{number:02}"), "status": "final",
            "code": {"text": "x"}, "valueInteger": number});
        Record::new(observation).of(&lake, ["ann", "ben"][number % 2])
    });
    records::commit(&lake, &observations.collect::<Vec<_>>());
    let view = Arc::new(View::parse(definition().to_string().as_bytes()).unwrap());
    let mut traveling = Traveling::new(&lake);
    let page = |offset, count| Some(Page { offset, count });
    let of_ann = Resources {
        patients: Some(vec!["ann".to_owned()]),
        owners: Some(lake.owners_of("local", "ann")),
        ..Resources::default()
    };
    let asked = [
        ("all", Resources::default(), None, 37),
        ("limit", Resources::default(), Some(7), 7),
        (
            "page",
            Resources {
                page: page(5, Some(10)),
                ..Resources::default()
            },
            None,
            0,
        ),
        (
            "since",
            Resources {
                since: Some(i64::MAX / 2),
                ..Resources::default()
            },
            None,
            0,
        ),
        ("ann", of_ann, None, 18),
    ];
    for (name, resources, limit, count) in asked {
        let run = run(&lake, &application("local"), &view, &resources, limit);
        let rows = traveling.rows(run.plan()).unwrap();
        assert!(
            rows.len() == count || name == "page" && (5..=10).contains(&rows.len()),
            "{name}: {}",
            rows.len()
        );
        traveling.add(name, run.plan()).unwrap();
    }
    // A patient's scope shows the same rows in the other process, and no others.
    let ann = records::patient(&lake, "local", "ann");
    let run = run(&lake, &ann, &view, &Resources::default(), None);
    assert_eq!(traveling.rows(run.plan()).unwrap().len(), 18);
    traveling.add("as ann", run.plan()).unwrap();
    assert_eq!(traveling.arrive(), 5);
}
