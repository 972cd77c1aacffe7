//! Views over a lake: their rows by scope, their filters in the scan, and pages.

use expect_test::expect;
use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::views::{Format, Page, Resources};

use super::{over_lake, run, table, view, written};
use crate::harness::records::{Record, application, commit, lake, patient};

fn observation(id: &str, patient: &str, value: &str) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final",
        "subject": {"reference": format!("Patient/{patient}")},
        "performer": [{"reference": "Practitioner/doc"}],
        "code": {"coding": [{"system": "http://loinc.org", "code": "8480-6"}]}, "valueString": value})
}

/// Two people of one application who share a practitioner, and one of another application.
fn shared_lake() -> (tempfile::TempDir, Lake) {
    let (folder, lake) = lake();
    let doc = json!({"resourceType": "Practitioner", "id": "doc", "gender": "female"});
    let records = [
        Record::new(observation("a1", "a", "one"))
            .of(&lake, "a")
            .refs(&["Practitioner/doc"]),
        Record::new(observation("a2", "a", "two"))
            .of(&lake, "a")
            .refs(&["Practitioner/doc"]),
        Record::new(observation("b1", "b", "three"))
            .of(&lake, "b")
            .refs(&["Practitioner/doc"]),
        Record::new(observation("x1", "a", "other application"))
            .application("other")
            .of(&lake, "a"),
        Record::new(doc),
        Record::new(json!({"resourceType": "Practitioner", "id": "nobody's"})),
        Record::new(json!({"resourceType": "Practitioner", "id": "theirs"})).application("other"),
    ];
    commit(&lake, &records);
    (folder, lake)
}

fn values() -> Value {
    json!({"resource": "Observation", "select": [{"column": [
        {"name": "id", "path": "id"}, {"name": "value", "path": "value.ofType(string)"}]}]})
}

fn column(found: &[Value], name: &str) -> Vec<String> {
    let mut values: Vec<String> = found.iter().map(|row| row[name].as_str().unwrap().to_owned()).collect();
    values.sort();
    values
}

#[test]
fn a_view_shows_what_its_scope_shows_and_nothing_else() {
    let (_folder, lake) = shared_lake();
    let ids = |scope, definition: &Value| column(&over_lake(&lake, &scope, definition).unwrap().0, "id");
    assert_eq!(ids(application("local"), &values()), ["a1", "a2", "b1"]);
    assert_eq!(ids(application("other"), &values()), ["x1"]);
    assert_eq!(ids(patient(&lake, "local", "a"), &values()), ["a1", "a2"]);
    assert_eq!(ids(patient(&lake, "other", "a"), &values()), ["x1"]);
    assert!(ids(patient(&lake, "local", "nobody"), &values()).is_empty());
    let practitioners = json!({"resource": "Practitioner", "select": [{"column": [{"name": "id", "path": "id"}]}]});
    assert_eq!(ids(patient(&lake, "local", "b"), &practitioners), ["doc"]);
    assert_eq!(ids(application("other"), &practitioners), ["theirs"]);
}

#[test]
fn a_where_does_not_reach_past_the_scope() {
    let (_folder, lake) = shared_lake();
    let mut all = values();
    all["where"] = json!([{"path": "value.ofType(string).exists() or true"}]);
    let found = over_lake(&lake, &patient(&lake, "local", "b"), &all).unwrap().0;
    assert_eq!(column(&found, "id"), ["b1"]);
}

#[test]
fn patients_and_since_narrow_the_resources() {
    let (_folder, lake) = shared_lake();
    let (scope, view) = (application("local"), view(&values()));
    let ids = |resources: &Resources| {
        let rows: Vec<Value> =
            serde_json::from_str(&written(run(&lake, &scope, &view, resources, None).rows(), Format::Json).unwrap())
                .unwrap();
        let count = futures::executor::block_on(resources.count(&table(&lake, &scope, &view))).unwrap();
        (column(&rows, "id"), count)
    };
    let of = |patients: &[&str]| Resources {
        patients: Some(patients.iter().map(|patient| (*patient).to_owned()).collect()),
        ..Resources::default()
    };
    assert_eq!(ids(&of(&["b"])), (vec!["b1".to_owned()], 1));
    assert_eq!(ids(&of(&["a", "b"])).1, 3);
    assert_eq!(ids(&of(&[])), (Vec::new(), 0));
    let owned = Resources {
        owners: Some(vec![lake.owner_of("local", "b")]),
        ..of(&["b"])
    };
    assert_eq!(ids(&owned).1, 1);
    let first = lake.snapshot().time;
    commit(&lake, &[Record::new(observation("b2", "b", "later")).of(&lake, "b")]);
    let since = |since: i64| Resources {
        since: Some(since),
        ..Resources::default()
    };
    assert_eq!(ids(&since(first)).1, 4);
    assert_eq!(ids(&since(first + 1)).0, ["b2"]);
}

#[test]
fn a_page_counts_resources_before_the_where() {
    let (_folder, lake) = lake();
    let records: Vec<Record> = (0..10)
        .map(|number| {
            let value = if number % 2 == 0 { "even" } else { "odd" };
            Record::new(observation(&format!("o{number}"), "a", value)).of(&lake, "a")
        })
        .collect();
    commit(&lake, &records);
    let mut odd = values();
    odd["where"] = json!([{"path": "value.ofType(string) = 'odd'"}]);
    let (scope, view) = (application("local"), view(&odd));
    let page = |offset, count| {
        let resources = Resources {
            page: Some(Page { offset, count }),
            ..Resources::default()
        };
        written(
            run(&lake, &scope, &view, &resources, None).rows(),
            Format::Csv { header: false },
        )
        .unwrap()
    };
    assert_eq!(page(0, Some(4)), "o1,odd\no3,odd\n");
    assert_eq!(page(4, Some(4)), "o5,odd\no7,odd\n");
    assert_eq!(page(8, Some(4)), "o9,odd\n");
    assert_eq!(page(12, Some(4)), "");
    assert_eq!(page(7, None), "o7,odd\no9,odd\n");
    let limited = run(&lake, &scope, &view, &Resources::default(), Some(2));
    assert_eq!(
        written(limited.rows(), Format::Csv { header: false }).unwrap(),
        "o1,odd\no3,odd\n"
    );
    let none = run(&lake, &scope, &view, &Resources::default(), Some(0));
    assert_eq!(written(none.rows(), Format::Json).unwrap(), "[]");
}

#[test]
fn the_plan_says_what_is_read() {
    let (_folder, lake) = shared_lake();
    let definition = json!({"name": "codes", "resource": "Observation",
        "select": [{"column": [{"name": "id", "path": "id"}]},
            {"forEach": "code.coding", "column": [{"name": "code", "path": "code"}]}],
        "where": [{"path": "status = 'final'"}]});
    let resources = Resources {
        patients: Some(vec!["a".to_owned()]),
        since: Some(0),
        ..Resources::default()
    };
    let explained = |resources: &Resources| {
        let run = run(&lake, &application("local"), &view(&definition), resources, None);
        datafusion::physical_plan::displayable(run.plan().as_ref())
            .indent(true)
            .to_string()
    };
    expect![[r#"
        OrderedLimitExec: take=all
          ViewExec: columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id]
            LakeScanExec: columns=[id, code.coding.code], prune=[(patient = 'a' and last_updated >= 0 and status = 'final')], items=[patient = 'a'; item [status = 'final']], predicates=[last_updated >= TimestampMicrosecond(0, Some("UTC")); where status = 'final']
    "#]]
    .assert_eq(&explained(&resources));
    let page = Resources {
        page: Some(Page {
            offset: 2,
            count: Some(1),
        }),
        ..Resources::default()
    };
    expect![[r#"
        OrderedLimitExec: take=all
          ViewExec: columns=[id, code], leaves=[_id, code.coding, code.coding._code, code.coding.code, id], where=[status = 'final']
            OrderedLimitExec: skip=2, take=1
              LakeScanExec: columns=[id, status, code.coding.code], limit=3
    "#]].assert_eq(&explained(&page));
}

#[test]
fn a_type_that_was_never_stored_has_no_rows() {
    let (_folder, lake) = shared_lake();
    let definition = json!({"resource": "Encounter",
        "select": [{"column": [{"name": "id", "path": "id"}, {"name": "a", "path": "'A'"}]}]});
    assert_eq!(
        over_lake(&lake, &application("local"), &definition).unwrap().0,
        Vec::<Value>::new()
    );
}

#[test]
fn a_view_of_constants_has_a_row_for_each_resource() {
    let (_folder, lake) = shared_lake();
    let definition = json!({"resource": "Observation", "select": [{"column": [{"name": "a", "path": "'A'"}]}]});
    let found = over_lake(&lake, &application("local"), &definition).unwrap().0;
    assert_eq!(found, vec![json!({"a": "A"}); 3]);
}

#[test]
fn a_repeat_follows_what_contains_itself_as_deep_as_it_goes() {
    let (_folder, lake) = lake();
    let item = |id: &str, inside: Value| json!({"linkId": id, "type": "group", "item": inside});
    let leaf = |id: &str| json!({"linkId": id, "type": "string"});
    let nested = json!([
        item("1", json!([item("1.1", json!([leaf("1.1.1")])), leaf("1.2")])),
        leaf("2")
    ]);
    let questionnaire = json!({"resourceType": "Questionnaire", "id": "q", "status": "active", "item": nested});
    let other = json!({"resourceType": "Questionnaire", "id": "r", "status": "active"});
    commit(&lake, &[Record::new(questionnaire), Record::new(other)]);
    let definition = json!({"resource": "Questionnaire", "select": [{"column": [{"name": "id", "path": "id"}]},
        {"repeat": ["item"], "column": [{"name": "link", "path": "linkId"}, {"name": "place", "path": "%rowIndex"}]}]});
    let (scope, view) = (application("local"), view(&definition));
    let found = run(&lake, &scope, &view, &Resources::default(), None);
    let found = written(found.rows(), Format::Csv { header: false }).unwrap();
    assert_eq!(found, "q,1,0\nq,1.1,1\nq,1.1.1,2\nq,1.2,3\nq,2,4\n");
}
