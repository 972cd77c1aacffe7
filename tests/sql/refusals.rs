//! Refused statements: one sentence that names the fault and its place, without any record's contents.

use serde_json::json;

use super::{Lake, text};
use crate::harness::command;

#[test]
fn a_statement_that_writes_is_refused() {
    let lake = Lake::new();
    let before = lake.answer("SELECT count(*) FROM Patient");
    let out = lake.file("copied.csv");
    let copy = format!("COPY (SELECT * FROM patients) TO '{}'", text(&out));
    for statement in [
        "INSERT INTO Patient (id) VALUES ('x')",
        "UPDATE patients SET gender = 'x'",
        "DELETE FROM Patient",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "DROP TABLE Patient",
        "SELECT id INTO t FROM Patient",
        "SET datafusion.execution.batch_size = 1",
        "BEGIN",
        "EXPLAIN DELETE FROM Patient",
        "WITH t AS (INSERT INTO Patient (id) VALUES ('x') RETURNING id) SELECT * FROM t",
        "WITH t AS (DELETE FROM Patient RETURNING id) SELECT count(*) FROM t",
        "WITH a AS (WITH b AS (SELECT id INTO t FROM Patient) SELECT id FROM b) SELECT id FROM a",
        "SELECT * FROM (UPDATE Patient SET gender = 'x' RETURNING id) AS t",
        &copy,
    ] {
        let said = lake.refused(statement, &[]);
        assert!(
            said.contains("is refused: tabularium sql only reads"),
            "{statement}: {said}"
        );
    }
    assert!(!out.exists());
    assert_eq!(lake.answer("SELECT count(*) FROM Patient"), before);
    // A file is not a table.
    let secret = lake.file("secret.csv");
    std::fs::write(&secret, "a\n1\n").unwrap();
    let said = lake.refused(&format!("SELECT * FROM '{}'", text(&secret)), &[]);
    assert!(said.contains("there is no table"), "{said}");
}

#[test]
fn what_is_not_there_is_named() {
    let lake = Lake::new();
    for (statement, expected) in [
        (
            "SELECT gendr FROM Patient",
            "there is no column 'gendr'; did you mean 'Patient.gender'?",
        ),
        (
            "SELECT p.famly FROM patients p",
            "there is no column 'p.famly'; did you mean 'p.family'?",
        ),
        (
            "SELECT zzz FROM parts",
            "there is no column 'zzz'; there are parts.observation, parts.part, parts.value",
        ),
        (
            "SELECT * FROM Patints",
            "there is no table 'Patints'; did you mean 'patients'?",
        ),
        ("SELECT * FROM nothing", "there is no table 'nothing'"),
        (
            "WITH p AS (SELECT id FROM Patient) SELECT * FROM p JOIN q ON p.id = q.id",
            "there is no table 'q'",
        ),
        ("SELECT 1; SELECT 2", "2 statements were given"),
        ("", "0 statements were given"),
        ("SELEC 1", "the statement cannot be read: "),
        ("SELECT nosuch(id) FROM Patient", "nosuch"),
        (
            "SELECT fhirpath(Patient, 'nam') FROM Patient",
            "Patient has no element 'nam' (line 1, column 1); did you mean 'name'?",
        ),
        (
            "SELECT fhirpath(Patient, 'name') FROM Patient",
            "which is not a primitive; choose one of its elements",
        ),
        (
            "SELECT fhirpath(Patient, id) FROM Patient",
            "needs its expression as a text between quotes",
        ),
        (
            "SELECT fhirpath(patients, 'id') FROM patients",
            "there is no column 'patients.resource'",
        ),
        (
            "SELECT fhirpath(x.r, 'id') FROM (SELECT resource AS r FROM Patient) x",
            "takes only some of its columns",
        ),
    ] {
        let said = lake.refused(statement, &[]);
        assert!(said.contains(expected), "{statement}: {said}");
    }
}

#[test]
fn values_that_do_not_go_with_a_statement_are_not_told() {
    let lake = Lake::new();
    let given = "SELECT fhirpath(Patient, 'name.family') FROM Patient";
    assert!(
        lake.refused(given, &[]).contains("has 2 values in one row"),
        "{}",
        lake.refused(given, &[])
    );
    for (statement, expected) in [
        (
            "SELECT CAST(family AS INTEGER) FROM patients",
            "cannot be cast to the type that is asked for",
        ),
        (
            "SELECT id FROM Patient WHERE CAST(name[1]['family'] AS INTEGER) = 1",
            "cannot be cast to the type that is asked for",
        ),
        (
            "SELECT CAST(value AS INTEGER) / (CAST(value AS INTEGER) - 71) FROM observations",
            "a division by zero",
        ),
    ] {
        let said = lake.refused(statement, &[]);
        assert!(said.contains(expected), "{statement}: {said}");
        assert!(!said.contains("Hara") && !said.contains("Smith"), "{said}");
    }
    // An invalid date in a column that the view declares as DATE.
    lake.view(
        &json!({"resourceType": "ViewDefinition", "name": "days", "status": "active", "resource": "Patient",
        "select": [{"column": [{"name": "day", "path": "name.family.first()", "type": "string",
            "tag": [{"name": "ansi/type", "value": "DATE"}]}]}]}),
    );
    let said = lake.refused("SELECT max(day) FROM days", &[]);
    assert!(
        said.contains("column 'day' is to be DATE, but one of its values cannot be"),
        "{said}"
    );
}

#[test]
fn views_that_cannot_be_tables_are_named() {
    let lake = Lake::new();
    let mut view = super::patients();
    view["name"] = json!("Patient");
    lake.view(&view);
    let said = lake.refused("SELECT 1", &[]);
    assert!(
        said.contains("a view is named 'Patient', as the table of that type is"),
        "{said}"
    );
    std::fs::remove_file(lake.views().join("Patient.view.json")).unwrap();
    std::fs::write(lake.views().join("again.json"), super::patients().to_string()).unwrap();
    let said = lake.refused("SELECT 1", &[]);
    assert!(said.contains("two views are named 'patients'"), "{said}");
}

#[test]
fn results_take_the_place_of_nothing_that_is_needed() {
    let lake = Lake::new();
    let inside = lake.data().join("rows.csv");
    let said = lake.refused("SELECT 1", &["--out", text(&inside)]);
    assert!(said.contains("lies in the lake"), "{said}");
    let view = lake.views().join("patients.view.json");
    let said = lake.refused("SELECT 1", &["--out", text(&view)]);
    assert!(said.contains("is a view"), "{said}");
    // A failed statement leaves no file.
    let out = lake.file("rows.csv");
    lake.refused("SELECT CAST(family AS INTEGER) FROM patients", &["--out", text(&out)]);
    let left: Vec<_> = std::fs::read_dir(lake.folder.path()).unwrap().collect();
    assert!(!out.exists() && left.len() == 3, "{left:?}");
}

#[test]
fn memory_is_bounded() {
    let lake = Lake::new();
    let rows = "SELECT count(*) FROM (SELECT DISTINCT a.value * 1000000 + b.value + c.value * 1000 AS v FROM \
        generate_series(1, 100) a(value), generate_series(1, 100) b(value), generate_series(1, 100) c(value)) x";
    // Data beyond the memory limit is spilled, and the statement still succeeds.
    let answer = lake.answer_with(rows, &["--memory", "64"]);
    assert!(answer.contains("1000000"), "{answer}");
    let done = lake.run(
        "SELECT a.value FROM generate_series(1, 3000000) a(value) JOIN generate_series(1, 3000000) b(value) ON a.value = b.value",
        &["--memory", "1"],
    );
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{error}");
    assert!(
        error.contains("more memory than --memory allows") && error.lines().count() == 1,
        "{error}"
    );
}

/// To merge narrow rows by several keys takes more memory than to keep them.
#[test]
fn a_sort_by_several_keys_spills_beyond_its_memory() {
    const ROWS: usize = 700_000;
    let lake = Lake::new();
    for (value, keys) in [
        ("CAST(value AS INTEGER)", "value % 7, value"),
        ("value", "value % 7, value % 11, value"),
    ] {
        let statement = format!(
            "SELECT value FROM (SELECT {value} AS value FROM generate_series(0, {}) a(value)) x ORDER BY {keys}",
            ROWS - 1
        );
        let answer = lake.answer_with(&statement, &["--memory", "16", "--format", "csv"]);
        let found: Vec<usize> = answer.lines().skip(1).map(|line| line.parse().unwrap()).collect();
        let mut expected: Vec<usize> = (0..ROWS).collect();
        if keys.contains("11") {
            expected.sort_by_key(|value| (value % 7, value % 11, *value));
        } else {
            expected.sort_by_key(|value| (value % 7, *value));
        }
        assert!(found == expected, "{statement}");
    }
}

/// A window without an order needs all rows before it gives one, and they count.
#[test]
fn the_rows_of_a_window_count_towards_memory() {
    let lake = Lake::new();
    let window = |rows: usize, memory: &str| {
        let statement = format!(
            "SELECT count(*) AS n FROM (SELECT value, sum(value) OVER () AS total FROM generate_series(1, {rows}) a(value)) x WHERE total > 0"
        );
        lake.run(&statement, &["--memory", memory])
    };
    let few = window(10_000, "64");
    assert!(few.status.success(), "{}", String::from_utf8_lossy(&few.stderr));
    assert!(String::from_utf8(few.stdout).unwrap().contains("10000"));
    let many = window(10_000_000, "64");
    let error = String::from_utf8(many.stderr).unwrap();
    assert_eq!(many.status.code(), Some(3), "{error}");
    assert!(
        error.contains("more memory than --memory allows") && error.lines().count() == 1,
        "{error}"
    );
}

/// DataFusion recurses over chains: one that is too long is refused, and the longest that is not is answered.
#[test]
fn a_chain_of_operators_has_a_bound() {
    let lake = Lake::new();
    let text = |operators: usize| format!("SELECT id{} AS long FROM Patient", " || 'a'".repeat(operators));
    let longest = lake.answer(&text(1_000));
    assert!(longest.contains(&"a".repeat(1_000)), "{longest}");
    for operators in [1_001, 50_000] {
        let file = lake.file("long.sql");
        std::fs::write(&file, text(operators)).unwrap();
        let done = command::run(&[
            "sql",
            "-f",
            file.to_str().unwrap(),
            "--data",
            lake.data().to_str().unwrap(),
        ]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{error}");
        assert!(
            error.contains("chains more than 1000 operators") && error.lines().count() == 1,
            "{error}"
        );
    }
    let joined = format!(
        "SELECT count(*) AS n FROM (SELECT 1{}) x",
        " UNION ALL SELECT 1".repeat(500)
    );
    assert!(lake.answer(&joined).contains("501"));
}

#[test]
fn a_lake_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("none");
    let done = command::run(&["sql", "SELECT 1", "--data", text(&data)]);
    assert_eq!(done.status.code(), Some(2));
    assert!(!data.exists());
}

#[test]
fn an_interrupt_ends_a_statement() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let lake = Lake::new();
    let data = lake.data();
    let mut running = Command::new(command::PROGRAM)
        .args([
            "sql",
            "SELECT value FROM generate_series(1, 1000000000000)",
            "--data",
            text(&data),
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = BufReader::new(running.stdout.take().unwrap());
    let mut head = String::new();
    rows.read_line(&mut head).unwrap();
    let interrupted = Command::new("kill")
        .args(["-INT", &running.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    std::io::copy(&mut rows, &mut std::io::sink()).unwrap();
    let mut said = String::new();
    running.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("stopped before the end"), "{said}");
}

/// A sort or an aggregate reads everything before its first row, and writes nothing until then.
#[test]
fn an_interrupt_ends_a_statement_before_its_first_row() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let lake = Lake::new();
    let data = lake.data();
    for statement in [
        "SELECT value FROM generate_series(1, 1000000000000) ORDER BY value % 1000, value",
        "SELECT count(*), sum(value % 7) FROM generate_series(1, 1000000000000)",
        "SELECT value % 1000 AS part, count(*) FROM generate_series(1, 1000000000000) GROUP BY 1",
    ] {
        let mut running = Command::new(command::PROGRAM)
            .args(["sql", statement, "--data", text(&data), "--memory", "64"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program handles the signal from the moment at which the statement begins.
        let handles = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
        };
        let begun = Instant::now();
        while !handles() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{statement}");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(300));
        let interrupted = Command::new("kill")
            .args(["-INT", &running.id().to_string()])
            .status()
            .unwrap();
        assert!(interrupted.success());
        let (mut rows, mut said) = (String::new(), String::new());
        running.stdout.take().unwrap().read_to_string(&mut rows).unwrap();
        running.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(running.wait().unwrap().code(), Some(130), "{statement}: {said}");
        assert_eq!(rows, "", "{statement}");
        assert!(said.contains("stopped before the end"), "{statement}: {said}");
    }
}
