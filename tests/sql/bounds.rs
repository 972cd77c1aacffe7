//! Statements that would take any amount of memory, stack or time end with one sentence that names the bound.

use std::process::{Command, Output};

use super::{Lake, text};
use crate::harness::command;

/// The virtual memory of the program in KiB. If it needs more, it is aborted, and the test fails.
const ADDRESS_SPACE: &str = "6000000";

/// Runs a statement from a file, with a limit on the memory of the process.
fn run(lake: &Lake, statement: &str, memory: &str) -> Output {
    let (file, data, views) = (lake.file("statement.sql"), lake.data(), lake.views());
    std::fs::write(&file, statement).unwrap();
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"")])
        .arg(command::PROGRAM)
        .args(["sql", "-f", text(&file), "--data", text(&data), "--views", text(&views)])
        .args(["--memory", memory, "--format", "csv", "--no-header"])
        .output()
        .unwrap()
}

/// The error of a statement that must end with this exit code and one sentence.
fn error(lake: &Lake, statement: &str, memory: &str, code: i32) -> String {
    let shown: String = statement.chars().take(200).collect();
    let done = run(lake, statement, memory);
    let error = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(code), "{shown}: {error}");
    assert_eq!(error.lines().count(), 1, "{shown}: {error}");
    assert!(done.stdout.is_empty(), "{shown}");
    error
}

fn answer(lake: &Lake, statement: &str, memory: &str) -> String {
    let shown: String = statement.chars().take(200).collect();
    let done = run(lake, statement, memory);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{shown}: {error}");
    String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
}

/// Queries that each double the text of the query before.
fn doubled(first: &str, double: &str, times: usize) -> String {
    let queries: String = (1..=times)
        .map(|at| format!(", t{at} AS (SELECT {double} AS s FROM t{})", at - 1))
        .collect();
    format!("WITH t0 AS ({first}){queries} SELECT max(length(s)) FROM t{times}")
}

#[test]
fn a_function_takes_no_more_than_the_memory() {
    let lake = Lake::new();
    let many: Vec<String> = (0..60).map(|at| format!("repeat(id, {})", 3_000_000 + at)).collect();
    let constants: Vec<String> = (0..1_500).map(|at| format!("repeat('x', {})", 60_000 - at)).collect();
    for statement in [
        "SELECT repeat('x', 2000000000)",
        "SELECT length(repeat('x', 2000000000))",
        "SELECT id FROM Patient WHERE id = repeat('x', 2000000000)",
        "SELECT repeat(id, 2000000000) FROM Patient",
        "SELECT repeat(id, 9000000000000000000) FROM Patient",
        "SELECT length(repeat(id, 2000000000)) FROM Patient ORDER BY 1",
        "SELECT lpad('x', 2000000000)",
        "SELECT lpad(id, 2000000000, 'x') FROM Patient",
        "SELECT rpad(id, 2000000000, 'xy') FROM Patient",
        "SELECT array_repeat(id, 1000000000) FROM Patient",
        "SELECT array_repeat(array_repeat(id, 100000), 100000) FROM Patient",
        "SELECT array_resize([1], 10000000000)",
        "SELECT array_resize([id], 1000000000, id) FROM Patient",
        "SELECT cardinality(range(0, 100000000000))",
        "SELECT cardinality(generate_series(0, length(id) * 10000000000)) FROM Patient",
        "SELECT generate_series(TIMESTAMP '1900-01-01', TIMESTAMP '2020-01-01', INTERVAL '1' SECOND)",
        "SELECT range(DATE '0001-01-01', DATE '9999-01-01', INTERVAL '1' MICROSECOND)",
        "SELECT replace(repeat(id, 50000), 'a', repeat(id, 50000)) FROM Patient",
        "SELECT replace(id, '', repeat(id, 50000000)) FROM Patient",
        "SELECT regexp_replace(repeat(id, 10000), '.', repeat(id, 100000), 'g') FROM Patient",
        "SELECT array_to_string(range(0, 100000 + length(id)), repeat(id, 10000)) FROM Patient",
        "SELECT string_to_array(repeat(id, 10000000), NULL) FROM Patient",
        "SELECT overlay(id PLACING repeat(id, 100000000) FROM 1) FROM Patient",
        "SELECT string_agg(s, ',') FROM (SELECT repeat('x', 1000) AS s FROM generate_series(1, 10000000)) x",
        "SELECT array_agg(value) FROM generate_series(1, 1000000000) x(value)",
        "SELECT s, count(*) OVER () FROM (SELECT repeat('x', 1000) AS s FROM generate_series(1, 10000000)) x",
        "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM t WHERE n < 60) \
            SELECT max(length(s)) FROM t",
        "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, concat(s, s) FROM t WHERE n < 60) \
            SELECT max(length(s)) FROM t",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT t.n FROM t CROSS JOIN generate_series(1, 10)) \
            SELECT count(*) FROM t",
        &doubled("SELECT id AS s FROM Patient", "s || s", 40),
        &doubled("SELECT id AS s FROM Patient", "concat(s, s, s)", 30),
        &doubled("SELECT 'x' AS s", "s || s || s", 30),
        &doubled("SELECT 'x' AS s", "concat(s, s)", 40),
        &format!("SELECT {} FROM Patient", many.join(", ")),
        &format!("SELECT concat({}) FROM Patient", many.join(", ")),
        &format!("SELECT {}", constants.join(", ")),
        // A constant is copied into every row of a batch.
        "SELECT repeat('x', 60000) FROM generate_series(1, 100000)",
        "SELECT CASE WHEN value > 5 THEN repeat('x', 60000) ELSE 'y' END FROM generate_series(1, 100000) x(value)",
    ] {
        let said = error(&lake, statement, "64", 3);
        assert!(said.contains("more memory than --memory allows"), "{statement}: {said}");
    }
}

#[test]
fn a_plan_of_such_a_function_is_shown() {
    let lake = Lake::new();
    let plan = answer(
        &lake,
        "EXPLAIN SELECT repeat('x', 2000000000), repeat(id, 2000000000) FROM Patient",
        "64",
    );
    assert!(plan.contains("repeat"), "{plan}");
    let said = error(
        &lake,
        "EXPLAIN ANALYZE SELECT repeat(id, 2000000000) FROM Patient",
        "64",
        3,
    );
    assert!(said.contains("more memory than --memory allows"), "{said}");
}

/// Large results are computed in parts. These and all others are the same as without a bound.
#[test]
fn functions_within_the_memory_give_their_results() {
    let lake = Lake::new();
    for (statement, expected) in [
        ("SELECT length(repeat('x', 50000))", "50000"),
        (
            "SELECT repeat('ab', 3), lpad('x', 4, 'ab'), rpad('x', 3) || '.'",
            "ababab,abax,x  .",
        ),
        (
            "SELECT 'a' || 'b' || 'c', 'a' || NULL, 1 || 'x', concat('a', NULL, 'b')",
            "abc,,1x,ab",
        ),
        (
            "SELECT id || '-' || gender || '/' || length(id) FROM Patient WHERE gender IS NOT NULL ORDER BY 1",
            "ann-female/3\nben-male/3",
        ),
        (
            "SELECT id || gender FROM Patient ORDER BY id",
            "annfemale\nbenmale\n\"\"",
        ),
        (
            "SELECT array_to_string(range(0, 5), '-'), array_to_string(generate_series(5, 1, -2), '')",
            "0-1-2-3-4,531",
        ),
        (
            "SELECT cardinality(range(DATE '2020-01-01', DATE '2020-03-01', INTERVAL '1' MONTH))",
            "2",
        ),
        (
            "SELECT replace('banana', 'a', 'oo'), regexp_replace('banana', '(an)', '[\\1]', 'g')",
            "boonoonoo,b[an][an]a",
        ),
        ("SELECT array_to_string([1] || [2, 3] || 4, ',')", "\"1,2,3,4\""),
        ("SELECT count(*) FROM (SELECT unnest(range(0, 400000))) x", "400000"),
        ("SELECT max(length(string_to_array('a,b,c', ',')[2]))", "1"),
        // These results are several times the size of a part.
        (
            "SELECT sum(length(repeat(CAST(value AS TEXT), 100))), count(DISTINCT repeat(CAST(value AS TEXT), 100)) \
                FROM generate_series(10000, 29999) x(value)",
            "10000000,20000",
        ),
        (
            "SELECT min(repeat(CAST(value AS TEXT), 100)) = repeat('10000', 100), \
                max(CAST(value AS TEXT) || repeat(CAST(value AS TEXT), 99)) = repeat('29999', 100) \
                FROM generate_series(10000, 29999) x(value)",
            "true,true",
        ),
        (
            "SELECT CASE WHEN value > 1 THEN repeat('x', 2000) ELSE 'y' END = 'y' FROM generate_series(1, 1) x(value)",
            "true",
        ),
    ] {
        assert_eq!(answer(&lake, statement, "64"), expected, "{statement}");
    }
}

/// The parser and the planner recurse, and the parser reads some parts in several ways at each level.
#[test]
fn a_statement_that_is_nested_too_deeply_is_refused() {
    let lake = Lake::new();
    let nested = |before: &str, inner: &str, after: &str, times: usize| {
        format!("SELECT {}{inner}{}", before.repeat(times), after.repeat(times))
    };
    for times in [60, 2_000, 20_000] {
        for statement in [
            nested("CASE WHEN true THEN ", "1", " ELSE 2 END", times),
            nested("CASE WHEN false THEN 1 ELSE ", "1", " END", times),
            nested("(", "1", ")", times),
            nested("CAST(", "1", " AS INT)", times),
            nested("lower(", "'x'", ")", times),
            nested("[", "1", "]", times),
            nested("INTERVAL ", "'1' DAY", "", times),
            nested("NOT ", "true", "", times),
            nested("- ", "1", "", times),
            nested("EXISTS (SELECT ", "1", ")", times),
            nested("(SELECT ", "1", ")", times),
            format!("{}SELECT 1", "EXPLAIN ".repeat(times)),
            format!(
                "SELECT * FROM {}Patient{}",
                "(SELECT * FROM ".repeat(times),
                ")".repeat(times)
            ),
            format!("SELECT * FROM {}Patient{}", "(".repeat(times), ")".repeat(times)),
            format!(
                "WITH {}SELECT 1{}",
                "a AS (WITH ".repeat(times),
                ") SELECT 2".repeat(times)
            ),
        ] {
            let said = error(&lake, &statement, "64", 2);
            let shown: String = statement.chars().take(60).collect();
            let is_named = [
                "nested deeper than 48 levels",
                "queries inside one another",
                "more than 1000 operators",
            ];
            assert!(is_named.iter().any(|name| said.contains(name)), "{shown}: {said}");
        }
    }
    // The deepest statements that are accepted.
    for (statement, expected) in [
        (nested("CASE WHEN true THEN ", "1", " ELSE 2 END", 48), "1"),
        (nested("CAST(", "1", " AS INT)", 48), "1"),
        (nested("lower(", "'X'", ")", 48), "x"),
        (nested("(", "1", ")", 48), "1"),
        (nested("NOT ", "true", "", 48), "true"),
        (nested("(SELECT ", "1", ")", 14), "1"),
    ] {
        assert_eq!(answer(&lake, &statement, "64"), expected, "{statement}");
    }
}

/// A null of a type with a fixed size takes the memory of all its values.
#[test]
fn a_type_of_fixed_size_has_a_bound() {
    let lake = Lake::new();
    for statement in [
        "SELECT CAST(NULL AS INT[2000000000])",
        "SELECT TRY_CAST(NULL AS INT[100][100])",
        "SELECT arrow_cast(NULL, 'FixedSizeBinary(2000000000)')",
        "SELECT arrow_cast(NULL, 'FixedSizeList(2000000000, Int64)') FROM Patient",
    ] {
        let said = error(&lake, statement, "64", 2);
        assert!(said.contains("at most 4096 values"), "{statement}: {said}");
    }
    assert_eq!(answer(&lake, "SELECT CAST([1, 2] AS INT[2])", "64"), "\"[1,2]\"");
}
