//! A statement sees its reader's rows: one application's records, or one patient's with their references.

use serde_json::json;

use super::{Lake, observation};

/// Ann and Ben, their practitioner, and another one without references.
fn lake() -> Lake {
    let practitioner = |id: &str| json!({"resourceType": "Practitioner", "id": id, "name": [{"family": id}]});
    let mut records = vec![practitioner("doc"), practitioner("stranger")];
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        records.push(
            json!({"resourceType": "Patient", "id": id, "gender": "other", "name": [{"family": id}],
            "link": [{"other": {"reference": format!("Patient/{other}")}, "type": "seealso"}]}),
        );
        let mut seen = observation(&format!("o-{id}"), id, "weight", "2020-01-01", json!(70));
        seen["performer"] = json!([{"reference": "Practitioner/doc"}]);
        records.push(seen);
    }
    Lake::of(&records)
}

#[test]
fn a_patient_sees_nobody_else() {
    let lake = lake();
    for (own, other) in [("ann", "ben"), ("ben", "ann")] {
        let answer = |statement: &str| lake.answer_with(statement, &["--patient", own]);
        for (statement, expected) in [
            ("SELECT id FROM Patient", format!("id\n{own}\n")),
            ("SELECT count(*) AS n FROM Patient", "n\n1\n".to_owned()),
            ("SELECT id FROM patients", format!("id\n{own}\n")),
            ("SELECT id FROM Observation", format!("id\no-{own}\n")),
            (
                "SELECT count(*) AS n, max(patient) AS p FROM observations",
                format!("n,p\n1,{own}\n"),
            ),
            // Only the practitioner that their rows refer to.
            ("SELECT id FROM Practitioner", "id\ndoc\n".to_owned()),
            (
                "SELECT fhirpath(Patient, 'name.family.first()') AS f FROM Patient",
                format!("f\n{own}\n"),
            ),
        ] {
            assert_eq!(answer(statement), expected, "{statement}");
        }
        // No statement finds the other person's rows.
        for statement in [
            format!("SELECT id FROM Patient WHERE id = '{other}'"),
            format!("SELECT id FROM Patient WHERE patient = '{other}'"),
            format!("SELECT id FROM observations WHERE patient = '{other}'"),
            format!("SELECT id FROM Observation WHERE id IN ('o-{other}')"),
            format!("SELECT id FROM Patient WHERE resource LIKE '%\"id\":\"{other}\"%'"),
            format!("SELECT id FROM Patient WHERE fhirpath(row, 'id') = '{other}'"),
            format!("SELECT o.id FROM Observation o JOIN Patient p ON o.patient <> p.id AND o.patient = '{other}'"),
            format!("SELECT id FROM Observation WHERE NOT (patient = '{own}')"),
            format!(
                "SELECT p.id FROM Patient p WHERE EXISTS (SELECT 1 FROM Observation o WHERE o.patient = '{other}')"
            ),
            format!("(SELECT id FROM Patient EXCEPT SELECT '{own}')"),
        ] {
            assert_eq!(answer(&statement), "id\n", "{statement}");
        }
    }
}

#[test]
fn an_application_sees_nobody_elses_records() {
    let lake = lake();
    let answer = |statement: &str| lake.answer_with(statement, &["--application", "other"]);
    assert_eq!(answer("SELECT count(*) AS n FROM Patient"), "n\n0\n");
    assert_eq!(answer("SELECT count(*) AS n FROM observations"), "n\n0\n");
    assert_eq!(
        lake.answer_with("SELECT count(*) AS n FROM Patient", &["--mode", "test"]),
        "n\n0\n"
    );
}

#[test]
fn columns_of_the_engine_are_not_there() {
    let lake = lake();
    for column in ["owner", "application", "digest", "shared_refs", "__file", "__row"] {
        let said = lake.refused(&format!("SELECT \"{column}\" FROM Patient"), &[]);
        assert!(said.contains(&format!("there is no column '{column}'")), "{said}");
    }
}
