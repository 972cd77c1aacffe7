//! Statements and their results.

use super::Lake;

#[test]
fn views_are_grouped_and_joined() {
    let lake = Lake::new();
    for (statement, expected) in [
        (
            "SELECT code, count(*) AS n, sum(value) AS total, min(day) AS first FROM observations GROUP BY code ORDER BY code",
            "code,n,total,first\nbp,1,,2020-05-21\npulse,1,64.00,2020-02-01\nweight,3,221.35,2019-12-31\n",
        ),
        (
            "SELECT p.family, count(o.id) AS n FROM patients p LEFT JOIN observations o ON o.patient = p.id \
             GROUP BY p.id, p.family ORDER BY p.id",
            "family,n\nO'Hara,3\nSmith,2\n,0\n",
        ),
        (
            "SELECT o.patient, c.part, c.value FROM observations o JOIN parts c ON c.observation = o.id ORDER BY c.value",
            "patient,part,value\nben,diastolic,75\nben,systolic,118\n",
        ),
        (
            "WITH latest AS (SELECT *, row_number() OVER (PARTITION BY patient, code ORDER BY day DESC) AS place \
             FROM observations) SELECT patient, code, value FROM latest WHERE place = 1 AND code = 'weight' ORDER BY patient",
            "patient,code,value\nann,weight,71.00\nben,weight,80.25\n",
        ),
        (
            "SELECT id FROM observations WHERE patient IN (SELECT id FROM patients WHERE gender = 'male') ORDER BY id",
            "id\no4\no5\n",
        ),
        (
            "SELECT code FROM observations UNION SELECT part FROM parts ORDER BY 1 LIMIT 3 OFFSET 1",
            "code\ndiastolic\npulse\nsystolic\n",
        ),
        (
            "SELECT p.id, o.id FROM patients p JOIN Observation o ON o.patient = p.id WHERE o.id = 'o1'",
            "id,id_2\nann,o1\n",
        ),
    ] {
        assert_eq!(lake.answer(statement), expected, "{statement}");
    }
}

#[test]
fn nulls_dates_and_decimals_are_those_of_sql() {
    let lake = Lake::new();
    for (statement, expected) in [
        (
            "SELECT id, gender FROM patients ORDER BY gender NULLS FIRST",
            "id,gender\ncid,\nann,female\nben,male\n",
        ),
        (
            "SELECT count(*), count(gender) FROM patients",
            "count(*),count(patients.gender)\n3,2\n",
        ),
        (
            "SELECT id FROM observations WHERE day >= DATE '2020-02-01' AND day < '2020-04-01' ORDER BY id",
            "id\no2\no3\n",
        ),
        (
            "SELECT id FROM observations WHERE taken BETWEEN '2020-01' AND '2020-02-02' ORDER BY id",
            "id\no1\no3\n",
        ),
        (
            "SELECT date_part('year', day) AS y, count(*) AS n FROM observations GROUP BY 1 ORDER BY 1",
            "y,n\n2019,1\n2020,4\n",
        ),
        (
            "SELECT id FROM observations WHERE value > 70.5 AND value < 80 ORDER BY id",
            "id\no2\n",
        ),
        (
            "SELECT value * 2 AS twice FROM observations WHERE id = 'o1'",
            "twice\n140.20\n",
        ),
        ("SELECT id FROM patients WHERE born = DATE '1980-02-29'", "id\nann\n"),
        ("SELECT id FROM patients WHERE gender IS NULL", "id\ncid\n"),
        ("SELECT id FROM patients WHERE gender <> 'male'", "id\nann\n"),
        (
            "SELECT array_length(given) AS n, given[2] AS second FROM patients WHERE id = 'ann'",
            "n,second\n2,B.\n",
        ),
    ] {
        assert_eq!(lake.answer(statement), expected, "{statement}");
    }
}

#[test]
fn tables_have_the_columns_of_the_lake() {
    let lake = Lake::new();
    for (statement, expected) in [
        ("SELECT count(*) AS n FROM Observation", "n\n5\n"),
        (
            "SELECT id, gender, birthDate FROM Patient ORDER BY id",
            "id,gender,birthDate\nann,female,1980-02-29\nben,male,1990-07-01\ncid,,\n",
        ),
        (
            "SELECT name[1]['family'] AS f FROM Patient WHERE gender = 'female'",
            "f\nO'Hara\n",
        ),
        (
            "SELECT n['family'] AS f FROM (SELECT unnest(name) AS n FROM Patient) ORDER BY f",
            "f\nO'Hara\nSchmidt\nSmith\n",
        ),
        ("SELECT id FROM Observation WHERE code.text = 'pulse'", "id\no3\n"),
        (
            "SELECT count(*) AS n FROM Patient WHERE birthDate__start >= '1985-01-01'",
            "n\n1\n",
        ),
        (
            "SELECT valueQuantity.value AS v, valueQuantity['value__number'] + 1 AS n FROM Observation WHERE id = 'o1'",
            "v,n\n70.1,71.100000000000000000\n",
        ),
        ("SELECT count(*) AS n FROM patient", "n\n3\n"),
        ("SELECT count(*) AS n FROM Encounter", "n\n0\n"),
        (
            "SELECT resource LIKE '%Ann%' AS has FROM Patient ORDER BY id",
            "has\ntrue\nfalse\nfalse\n",
        ),
        (
            "SELECT a.id FROM Patient a JOIN Patient b ON a.gender <> b.gender WHERE b.name[1].family = 'Smith'",
            "id\nann\n",
        ),
    ] {
        assert_eq!(lake.answer(statement), expected, "{statement}");
    }
    let names = lake.answer("SELECT table_name FROM information_schema.tables WHERE table_schema = 'lake' ORDER BY 1");
    assert_eq!(
        names,
        "table_name\nObservation\nPatient\nPractitioner\nobservations\nparts\npatients\n"
    );
    let described = lake.answer("DESCRIBE observations");
    assert!(described.contains("value,\"Decimal128(10, 2)\",YES"), "{described}");
}

#[test]
fn fhirpath_is_asked_of_rows() {
    let lake = Lake::new();
    for (statement, expected) in [
        (
            "SELECT id, fhirpath(Patient, 'name.family.first()') AS family FROM Patient ORDER BY id",
            "id,family\nann,O'Hara\nben,Smith\ncid,\n",
        ),
        (
            "SELECT fhirpath(p, 'gender') AS g, count(*) AS n FROM Patient p GROUP BY fhirpath(p, 'gender') ORDER BY n, g",
            "g,n\nfemale,1\nmale,1\n,1\n",
        ),
        (
            "SELECT id FROM Patient WHERE fhirpath(row, 'gender') = 'male'",
            "id\nben\n",
        ),
        ("SELECT id FROM Patient WHERE fhirpath(row, 'active')", "id\nann\n"),
        (
            "SELECT id FROM Observation WHERE fhirpath('value.ofType(Quantity).value') > 75.5",
            "id\no4\n",
        ),
        (
            "SELECT sum(fhirpath(Observation, 'component.count()')) AS n FROM Observation",
            "n\n2\n",
        ),
        (
            "SELECT fhirpath_list(Patient, 'name.given') AS given FROM Patient WHERE id = 'ann'",
            "given\n\"[\"\"Ann\"\",\"\"B.\"\"]\"\n",
        ),
        (
            "SELECT fhirpath(Patient, 'name.exists()') FROM Patient WHERE id = 'cid'",
            "\"fhirpath(Patient, 'name.exists()')\"\nfalse\n",
        ),
        // A row that the join does not find has no value, not even false.
        (
            "SELECT o.id, fhirpath(p, 'name.exists()') AS named FROM Observation o LEFT JOIN Patient p \
             ON p.id = o.patient AND p.gender = 'female' ORDER BY o.id",
            "id,named\no1,true\no2,true\no3,true\no4,\no5,\n",
        ),
        (
            "SELECT x.g FROM (SELECT fhirpath(Patient, 'gender') AS g, id FROM Patient) x JOIN observations o ON o.patient = x.id \
             WHERE o.code = 'bp'",
            "g\nmale\n",
        ),
    ] {
        assert_eq!(lake.answer(statement), expected, "{statement}");
    }
}

#[test]
fn results_have_the_form_that_is_asked_for() {
    let lake = Lake::new();
    let statement = "SELECT id, born, given, name FROM patients JOIN (SELECT id AS i, name FROM Patient) ON id = i WHERE gender = 'male'";
    let json = r#"{"id":"ben","born":"1990-07-01","given":["Ben"],"name":[{"family":"Smith","given":["Ben"]},{"family":"Schmidt"}]}"#;
    assert_eq!(
        lake.answer_with(statement, &["--format", "ndjson"]),
        format!("{json}\n")
    );
    assert_eq!(
        lake.answer_with(statement, &["--format", "json"]),
        format!("[{json}]\n")
    );
    assert_eq!(lake.answer_with("SELECT 1 AS one", &["--no-header"]), "1\n");
    assert_eq!(
        lake.answer_with("SELECT id FROM Patient WHERE id = 'x'", &["--format", "json"]),
        "[]\n"
    );
    let out = lake.file("rows.parquet");
    let said = lake.answer_with(statement, &["--out", super::text(&out)]);
    assert_eq!(said, format!("1 row to {}\n", out.display()));
    let file = std::fs::File::open(&out).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 1);
}

#[test]
fn a_statement_comes_from_a_file() {
    let lake = Lake::new();
    let (file, data) = (lake.file("question.sql"), lake.data());
    std::fs::write(&file, "-- how many\nSELECT count(*) AS n\nFROM Patient;\n").unwrap();
    let done = crate::harness::command::done(&["sql", "-f", super::text(&file), "--data", super::text(&data)]);
    assert_eq!(String::from_utf8(done).unwrap(), "n\n3\n");
}
