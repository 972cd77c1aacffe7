//! A `where` as a filter of the scan: rows that cannot match are skipped, and no match is lost.

use expect_test::expect;
use serde_json::{Value, json};
use tabularium::lake::Lake;
use tabularium::views::{Format, Resources};

use super::super::{in_memory, over_lake, run, table, view, written};
use crate::harness::records::{Record, application, commit, lake};

/// Patients of many kinds in different files.
fn patients() -> Vec<Vec<Value>> {
    let mut files = Vec::new();
    for file in 0..6 {
        let patient = |number: usize| {
            let mut patient = json!({"resourceType": "Patient", "id": format!("p{file}-{number}")});
            if number % 5 != 4 {
                patient["active"] = json!(file < 3);
                patient["gender"] = json!(if file % 2 == 0 { "female" } else { "male" });
                patient["birthDate"] = json!(match number % 3 {
                    0 => format!("{}", 1940 + file * 10),
                    1 => format!("{}-06", 1940 + file * 10),
                    _ => format!("{}-06-15", 1940 + file * 10),
                });
                patient["name"] = json!([{"use": "official", "family": format!("F{file}"), "given": ["A", format!("G{number}")]},
                    {"use": "nickname", "text": format!("N{file}")}]);
            }
            match number % 4 {
                0 => patient["multipleBirthInteger"] = json!(file),
                1 => patient["multipleBirthBoolean"] = json!(file % 2 == 0),
                2 => patient["deceasedDateTime"] = json!(format!("20{file}0-01-01T00:00:00+02:00")),
                _ => patient["_gender"] = json!({"extension": [{"url": "u", "valueCode": "x"}]}),
            }
            patient["maritalStatus"] = match number % 3 {
                0 => json!({"coding": [{"system": "s", "code": format!("c{file}")}, {"system": "t", "code": "c9"}]}),
                1 => json!({"coding": [{"system": "s"}, {"code": format!("c{file}")}]}),
                _ => json!({"coding": [{"system": "t", "code": format!("c{file}")}], "text": "married"}),
            };
            patient["managingOrganization"] = json!({"reference": format!("Organization/{file}")});
            patient
        };
        files.push((0..20).map(patient).collect());
    }
    files
}

fn filled(files: &[Vec<Value>]) -> (tempfile::TempDir, Lake) {
    let (folder, lake) = lake();
    for file in files {
        let records: Vec<Record> = file.iter().cloned().map(Record::new).collect();
        commit(&lake, &records);
    }
    (folder, lake)
}

fn definition(conditions: &[&str]) -> Value {
    let conditions: Vec<Value> = conditions.iter().map(|path| json!({"path": path})).collect();
    json!({"resource": "Patient", "where": conditions, "select": [{"column": [{"name": "id", "path": "id"}]}],
        "constant": [{"name": "code", "valueCode": "c3"}]})
}

const CONDITIONS: [&str; 48] = [
    "active",
    "active = true",
    "active.not()",
    "active = false",
    "true = active",
    "gender = 'male'",
    "'male' = gender",
    "gender != 'male'",
    "gender in ('male' | 'other')",
    "gender.exists()",
    "gender.exists() and active",
    "gender.extension.exists()",
    "gender.empty()",
    "gender = 'other'",
    "birthDate > @1970",
    "birthDate >= @1970-06",
    "birthDate < @1960-06-15",
    "birthDate <= @1960-06",
    "@1960 < birthDate",
    "birthDate = @1960-06",
    "birthDate = @1960-06-15",
    "birthDate > @1950 and birthDate < @1980",
    "birthDate > @1985 or gender = 'male'",
    "birthDate > today()",
    "deceased.ofType(dateTime) > @2030",
    "deceased.ofType(dateTime) = @2030-01-01T00:00:00+02:00",
    "deceased.ofType(dateTime) <= @2029-12-31T22:00:00Z",
    "deceased.exists()",
    "multipleBirth.ofType(integer) = 3",
    "multipleBirth.ofType(integer) > 3",
    "multipleBirth.ofType(integer) <= 1",
    "multipleBirth.ofType(boolean)",
    "multipleBirth = 3",
    "name.family = 'F2'",
    "name.given contains 'G3'",
    "'G3' in name.given",
    "name.where(use = 'official').family = 'F4'",
    "name.where(use = 'nickname').exists(text = 'N1')",
    "name.where(use = 'nickname' and family = 'F1').exists()",
    "name.first().family = 'F5'",
    "maritalStatus.coding.where(system = 's' and code = 'c3').exists()",
    "maritalStatus.coding.exists(system = 's' and code in ('c3' | 'c5'))",
    "maritalStatus.coding.exists(system = 's' and %resource.maritalStatus.coding.code contains 'c3')",
    "maritalStatus.where(coding.system = 's' and coding.code = 'c3').exists()",
    "maritalStatus.coding.code contains %code",
    "maritalStatus.coding.where(code = %code).system = 's'",
    "managingOrganization.reference = 'Organization/2'",
    "name.given.startsWith('G')",
];

#[test]
fn no_row_that_matches_is_lost() {
    let files = patients();
    let (_folder, lake) = filled(&files);
    let all: Vec<Value> = files.concat();
    let sorted = |found: Result<(Vec<Value>, Vec<String>), String>| {
        found.map(|(rows, _)| {
            let mut ids: Vec<String> = rows.iter().map(Value::to_string).collect();
            ids.sort();
            ids
        })
    };
    let mut matched = 0;
    for one in CONDITIONS {
        for other in ["active", "gender = 'male'", "true"] {
            for conditions in [vec![one], vec![one, other], vec![&*format!("({one}) and {other}")]] {
                let definition = definition(&conditions);
                let expected = sorted(in_memory(&definition, &all));
                let found = sorted(over_lake(&lake, &application("local"), &definition));
                assert_eq!(found, expected, "{conditions:?}");
                matched += expected.map_or(0, |rows| rows.len());
            }
        }
    }
    assert!(matched > 2_000, "{matched}");
}

#[test]
fn row_groups_that_cannot_match_are_skipped() {
    let (_folder, lake) = filled(&patients());
    let read = |condition: &str| {
        let view = view(&definition(&[condition]));
        let run = run(&lake, &application("local"), &view, &Resources::default(), None);
        let rows = written(run.rows(), Format::Csv { header: false })
            .unwrap()
            .lines()
            .count();
        let report = run.report();
        assert_eq!(report.row_groups, 6);
        (rows, report.row_groups - report.row_groups_pruned)
    };
    assert_eq!(read("gender = 'male'"), (48, 3));
    assert_eq!(read("active = true"), (48, 3));
    assert_eq!(read("birthDate > @1970"), (32, 3));
    assert_eq!(read("name.family = 'F2' and active"), (16, 1));
    // The dictionary distinguishes codes within the range, row by row.
    assert_eq!(
        read("maritalStatus.coding.where(system = 's' and code = 'c3').exists()"),
        (7, 4)
    );
    assert_eq!(read("multipleBirth.ofType(integer) >= 4"), (10, 2));
    // An expression that may fail is evaluated on all rows.
    assert_eq!(read("gender = 'male' and name.first().given.first().exists()"), (48, 3));
    assert_eq!(read("gender = 'male' and name.text.single().exists()"), (48, 6));
}

/// Whether a fault is reported must not depend on the rows' places in files.
#[test]
fn an_error_is_met_wherever_its_row_lies() {
    let two = json!([{"family": "one"}, {"family": "two"}]);
    let faulty = vec![json!({"resourceType": "Patient", "id": "x", "gender": "female", "name": two})];
    let sound = vec![json!({"resourceType": "Patient", "id": "y", "gender": "male"})];
    let (_folder, lake) = filled(&[faulty, sound]);
    for conditions in [
        &["gender = 'male'", "name.family.single() != 'x'"][..],
        &["name.family.single() != 'x' and gender = 'male'"],
    ] {
        let found = over_lake(&lake, &application("local"), &definition(conditions));
        assert!(found.unwrap_err().contains("single"), "{conditions:?}");
    }
}

#[test]
fn the_plan_says_what_the_scan_decides() {
    let (_folder, lake) = filled(&patients());
    let mut explained = String::new();
    for condition in [
        "gender = 'male'",
        "active",
        "birthDate > @1990",
        "gender.exists() and (multipleBirth.ofType(integer) > 2 or active.not())",
        "maritalStatus.coding.where(system = 's' and code = 'c3').exists()",
        "maritalStatus.coding.exists(system = 's' and code in ('c3' | 'c4'))",
        "name.where(use = 'official').given contains 'A'",
        "name.family.single() = 'x'",
        "gender.lower() = 'male'",
    ] {
        let view = view(&definition(&[condition]));
        let run = futures::executor::block_on(tabularium::views::SharedRun::new(
            &table(&lake, &application("local"), &view),
            vec![view.clone()],
            &Resources::default(),
            None,
        ));
        let plan = run.unwrap().explain();
        explained.push_str(plan.lines().last().unwrap().trim());
        explained.push('\n');
    }
    expect![[r#"
        LakeScanExec: columns=[id], prune=[gender = 'male'], items=[item [gender = 'male']], predicates=[where gender = 'male']
        LakeScanExec: columns=[id], prune=[active = true], predicates=[where active]
        LakeScanExec: columns=[id], prune=[(birthDate__start exists and birthDate__end >= 631152000000001)], predicates=[where birthDate > @1990]
        LakeScanExec: columns=[id], prune=[((gender exists or _gender exists) and (multipleBirthInteger >= 2 or active = false))], predicates=[where gender.exists() and (multipleBirth.ofType(integer) > 2 or active.not())]
        LakeScanExec: columns=[id], prune=[(maritalStatus.coding exists and (maritalStatus.coding.system = 's' and maritalStatus.coding.code = 'c3'))], items=[item [maritalStatus.coding.system = 's' and maritalStatus.coding.code = 'c3']], predicates=[where maritalStatus.coding.where(system = 's' and code = 'c3').exists()]
        LakeScanExec: columns=[id], prune=[(maritalStatus.coding exists and (maritalStatus.coding.system = 's' and (maritalStatus.coding.code = 'c3' or maritalStatus.coding.code = 'c4')))], items=[item [maritalStatus.coding.system = 's' and maritalStatus.coding.code = 'c3' or maritalStatus.coding.system = 's' and maritalStatus.coding.code = 'c4']], predicates=[where maritalStatus.coding.exists(system = 's' and code in ('c3' | 'c4'))]
        LakeScanExec: columns=[id], prune=[(name.given = 'A' and name.use = 'official')], items=[item [name.use = 'official']], predicates=[where name.where(use = 'official').given contains 'A']
        LakeScanExec: columns=[id], predicates=[where name.family.single() = 'x']
        LakeScanExec: columns=[id], predicates=[where gender.lower() = 'male']
    "#]].assert_eq(&explained);
}

/// If a page of lists had as many missing values as rows, it counted as empty, because its writer says so. Its values
/// were not found.
#[test]
fn a_page_of_lists_with_as_many_nulls_as_rows_has_values() {
    let names = json!([{"family": "Aulus"}, {"text": "A"}]);
    let people = (0..5).map(|at| json!({"resourceType": "Patient", "id": format!("p{at}"), "name": names}));
    let (_folder, lake) = filled(&[people.collect()]);
    let found = over_lake(&lake, &application("local"), &definition(&["name.family = 'Aulus'"]));
    assert_eq!(found.unwrap().0.len(), 5);
}
