//! A cache of recently read rows changes neither visibility nor results.

use serde_json::json;
use tabularium::lake::ScopedTable;
use tabularium::lake::scan::Sought;

use crate::harness::records::{Record, application, commit, commit_deleting, lake, patient, type_named};

fn observation(id: &str, patient: &str, text: &str) -> Record {
    Record::new(json!({
        "resourceType": "Observation", "id": id, "status": "final", "code": {"text": text},
        "subject": {"reference": format!("Patient/{patient}")},
    }))
}

/// The texts of an id by all reads of a table that return resources.
fn by_each_door(table: &ScopedTable, id: &str) -> [Option<String>; 3] {
    let text = |row: tabularium::lake::scan::Row| String::from_utf8(row.resource.to_vec()).unwrap();
    let sought = Sought {
        id: id.to_owned(),
        owner: None,
    };
    let placed = table.locate(id).unwrap();
    let all = table.read_all(&[sought], usize::MAX).unwrap().unwrap();
    [
        table.read(id).unwrap().map(text),
        placed.map(|place| text(table.resources(&[place]).unwrap().remove(0))),
        all.into_iter().next().flatten().map(|(_, row)| text(row)),
    ]
}

#[test]
fn what_one_scope_has_read_another_one_is_not_shown() {
    let (_dir, lake) = lake();
    let other = observation("same", "ann", "of another application").application("other");
    let snapshot = commit(
        &lake,
        &[
            observation("ann-1", "ann", "hers").of(&lake, "ann"),
            observation("bob-1", "bob", "his").of(&lake, "bob"),
            observation("same", "ann", "hers too").of(&lake, "ann"),
            other.of(&lake, "ann"),
        ],
    );
    let all = lake.table(&snapshot, type_named("Observation"), &application("local"));
    for id in ["ann-1", "bob-1", "same", "same"] {
        assert!(by_each_door(&all, id).iter().all(Option::is_some), "{id}");
    }
    let hers = all.locate("ann-1").unwrap().unwrap();
    let bob = lake.table(&snapshot, type_named("Observation"), &patient(&lake, "local", "bob"));
    assert!(by_each_door(&bob, "bob-1").iter().all(Option::is_some));
    assert_eq!(by_each_door(&bob, "ann-1"), [None, None, None]);
    assert!(bob.resources(&[hers]).is_err());
    let elsewhere = lake.table(&snapshot, type_named("Observation"), &application("other"));
    assert_eq!(by_each_door(&elsewhere, "ann-1"), [None, None, None]);
    for seen in by_each_door(&elsewhere, "same") {
        assert!(seen.unwrap().contains("of another application"));
    }
    for seen in by_each_door(&all, "same") {
        assert!(seen.unwrap().contains("hers too"));
    }
}

#[test]
fn each_snapshot_has_its_own_version_of_what_was_read() {
    let (_dir, lake) = lake();
    let scope = application("local");
    let before = commit(&lake, &[observation("a", "ann", "first").of(&lake, "ann")]);
    let old = lake.table(&before, type_named("Observation"), &scope);
    let place = old.locate("a").unwrap().unwrap();
    assert!(
        by_each_door(&old, "a")
            .iter()
            .flatten()
            .all(|text| text.contains("first"))
    );
    let next = Record {
        version: 2,
        ..observation("a", "ann", "second").of(&lake, "ann")
    };
    let gone = (type_named("Observation"), place.file, u64::from(place.row));
    let after = commit_deleting(&lake, &[next], &[gone]);
    let new = lake.table(&after, type_named("Observation"), &scope);
    for _ in 0..2 {
        assert!(
            by_each_door(&new, "a")
                .map(Option::unwrap)
                .iter()
                .all(|text| text.contains("second"))
        );
        assert!(
            by_each_door(&old, "a")
                .map(Option::unwrap)
                .iter()
                .all(|text| text.contains("first"))
        );
    }
    assert!(new.resources(&[place]).is_err());
}

#[test]
fn bounds_in_bytes_count_what_is_kept() {
    let (_dir, lake) = lake();
    let rows: Vec<Record> = (0..8)
        .map(|at| observation(&format!("o{at}"), "ann", &"x".repeat(100 * at)).of(&lake, "ann"))
        .collect();
    let snapshot = commit(&lake, &rows);
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let places: Vec<_> = (0..8)
        .map(|at| table.locate(&format!("o{at}")).unwrap().unwrap())
        .collect();
    let sought: Vec<Sought> = (0..8)
        .map(|at| Sought {
            id: format!("o{at}"),
            owner: None,
        })
        .collect();
    let bytes: usize = rows.iter().map(|row| row.text().len()).sum();
    // First nothing is cached, then some rows, then all.
    for kept in [0, 3, 8] {
        table.resources(&places[..kept]).unwrap();
        assert!(table.read_all(&sought, bytes - 1).unwrap().is_none(), "{kept}");
        assert!(table.resources_at_most(&places, bytes - 1).unwrap().is_none(), "{kept}");
    }
    let ids = |rows: Vec<tabularium::lake::scan::Row>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let expected: Vec<String> = sought.iter().map(|sought| sought.id.clone()).collect();
    assert_eq!(ids(table.resources_at_most(&places, bytes).unwrap().unwrap()), expected);
    let all = table.read_all(&sought, bytes).unwrap().unwrap();
    assert_eq!(ids(all.into_iter().map(|row| row.unwrap().1).collect()), expected);
}
