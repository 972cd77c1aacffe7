//! Plans of views, written as bytes and run in another process, give the same rows as here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::views::{Page, Resources, SharedRun, View};

use super::super::suite::{cases, identified};
use super::super::{run, table};
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
        let mut traveling = Traveling::new(&lake);
        for (name, view) in views {
            let run = run(&lake, &application("local"), view, &Resources::default(), None);
            ran += usize::from(traveling.add(name, run.plan()).is_some());
        }
        together(&lake, views, &mut traveling);
        with_rows += traveling.arrive();
    }
    assert!(
        views > 130 && ran + 5 > views && with_rows > 100,
        "{views} views, {ran} ran, {with_rows} with rows"
    );
}

/// The views of each resource type over one scan.
fn together(lake: &Lake, views: &[(String, Arc<View>)], traveling: &mut Traveling) {
    let mut types: BTreeMap<_, Vec<Arc<View>>> = BTreeMap::new();
    for (_, view) in views {
        types.entry(view.resource()).or_default().push(view.clone());
    }
    for views in types.into_values().filter(|views| views.len() > 1) {
        let table = table(lake, &application("local"), &views[0]);
        let resources = Resources::default();
        let run = futures::executor::block_on(SharedRun::new(&table, views, &resources, Some(3))).unwrap();
        traveling.add("views over one scan", run.plan()).unwrap();
    }
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
