//! No expression and no data makes the engine panic: random token sequences are compiled and, if they compile,
//! evaluated.

use proptest::prelude::*;
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, FhirPathError, Focus, compile};

/// Deliberately awkward: primitives without values, repeated ones, partial dates, wrong units, an odd reference,
/// contained resources.
const PATIENTS: [&str; 3] = [
    r#"{"resourceType":"Patient","id":"a","name":[{"given":["A",null,"ä"],"_given":[null,{"id":"i"},null]},{"family":"F"}],
        "birthDate":"1970-06","deceasedDateTime":"2020-01-01T10:00:00+14:00","multipleBirthInteger":2,
        "extension":[{"url":"u","valueQuantity":{"value":1e-7,"unit":"m","system":"http://unitsofmeasure.org","code":"mm3/{x}"}}]}"#,
    r#"{"resourceType":"Patient","id":"b","_birthDate":{"extension":[{"url":"u","valueTime":"10:30:00"}]},"deceasedBoolean":false,
        "contained":[{"resourceType":"Organization","id":"o"}],"managingOrganization":{"reference":"Nothing/at all?x"},
        "extension":[{"url":"u","valueDecimal":123456789012345678901234567890.123},{"url":"u","valueDecimal":-0.10}]}"#,
    r#"{"resourceType":"Patient","id":"c","birthDate":"not é date","active":true,"link":[{"other":{"reference":"Patient/a"},"type":"refer"}]}"#,
];

const TOKENS: [&str; 96] = [
    "name",
    "given",
    "family",
    "birthDate",
    "deceased",
    "multipleBirth",
    "extension",
    "value",
    "active",
    "link",
    "other",
    "contained",
    "Patient",
    "managingOrganization",
    "$this",
    "$index",
    "$total",
    "%resource",
    "%context",
    "id",
    "{}",
    "true",
    "false",
    "1",
    "0",
    "2147483647",
    "-1",
    "1.50",
    "'a'",
    "''",
    "'(\\\\d+'",
    "@2020",
    "@2020-02-29",
    "@2020-01-01T10:00:00Z",
    "@T10",
    "4 days",
    "1 'mg'",
    "0 'm'",
    ".",
    ".",
    ".",
    ".",
    ".",
    ".",
    ".",
    "(",
    ")",
    "[",
    "]",
    ",",
    " + ",
    " - ",
    " * ",
    " / ",
    " div ",
    " mod ",
    " & ",
    " | ",
    " = ",
    " ~ ",
    " != ",
    " < ",
    " >= ",
    " and ",
    " or ",
    " xor ",
    " implies ",
    " in ",
    " contains ",
    " is Patient",
    " as Quantity",
    "where(",
    "select(",
    "repeat(",
    "aggregate(",
    "iif(",
    "exists()",
    "first()",
    "count()",
    "children()",
    "descendants()",
    "ofType(string)",
    "resolve()",
    "lowBoundary()",
    "highBoundary()",
    "toString()",
    "toQuantity()",
    "toDecimal()",
    "sort()",
    "distinct()",
    "join(',')",
    "substring(1)",
    "matches('a')",
    "abs()",
    "type()",
    "not()",
];

/// Texts that often are valid expressions: steps and operators around operands.
fn sensible() -> impl Strategy<Value = String> {
    let operand = prop::sample::select(&TOKENS[..38]);
    let step = prop::sample::select(vec![
        "",
        "",
        ".first()",
        ".count()",
        ".given",
        ".value",
        ".extension",
        ".toString()",
        ".toQuantity()",
        ".lowBoundary()",
        ".highBoundary()",
        ".distinct()",
        ".children()",
        ".descendants()",
        ".type().name",
        ".abs()",
        ".length()",
        ".not()",
        ".exists()",
        ".sort()",
        ".round()",
        ".where($this.exists())",
        ".select($this | $index)",
        ".repeat(extension)",
        ".aggregate($this & $total)",
        ".resolve()",
        ".ofType(Quantity)",
        ".hasValue()",
        ".precision()",
        ".toChars()",
        ".power(2)",
        ".skip(1)",
        "[0]",
        ".join()",
        ".toDateTime()",
    ]);
    let operators = vec![
        " + ",
        " - ",
        " * ",
        " / ",
        " div ",
        " mod ",
        " & ",
        " | ",
        " = ",
        " ~ ",
        " != ",
        " < ",
        " >= ",
        " and ",
        " or ",
        " implies ",
        " in ",
        " contains ",
    ];
    let leaf =
        (operand, step.clone(), step.clone()).prop_map(|(operand, one, other)| format!("({operand}){one}{other}"));
    leaf.prop_recursive(3, 12, 2, move |inner| {
        let operator = prop::sample::select(operators.clone());
        (inner.clone(), operator, inner, step.clone())
            .prop_map(|(left, operator, right, step)| format!("({left}{operator}{right}){step}"))
    })
}

fn exercise(expression: &str) {
    let type_id = facts().lookup("Patient").unwrap();
    let options = CompileOptions {
        lenient: true,
        ..CompileOptions::default()
    };
    let Ok(program) = compile(expression, type_id, &options) else {
        return;
    };
    let texts: Vec<String> = PATIENTS.iter().map(|text| (*text).to_string()).collect();
    let Ok(together) = program.evaluate(&super::super::batch(type_id, &texts)) else {
        return;
    };
    assert_eq!(together.collection.rows(), texts.len(), "{expression}");
    for (row, text) in texts.iter().enumerate() {
        let Ok(alone) = program.evaluate(&super::super::batch(type_id, std::slice::from_ref(text))) else {
            continue;
        };
        let (one, other) = (alone.collection.range(0).len(), together.collection.range(row).len());
        assert_eq!(one, other, "{expression}, row {row}");
        let failed = together.faults.iter().any(|fault| fault.row as usize == row);
        assert_eq!(!alone.faults.is_empty(), failed, "{expression}, row {row}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_of_tokens_is_survived(tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 1..16)) {
        exercise(&tokens.concat());
    }

    #[test]
    fn expressions_are_survived_and_rows_stand_alone(expression in sensible()) {
        exercise(&expression);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,40}") {
        exercise(&text);
    }
}

/// If a result exceeds the caller's limit, the error comes before the items are created.
#[test]
fn a_result_beyond_what_the_caller_has_room_for_is_refused() {
    let type_id = facts().lookup("Patient").unwrap();
    let rows: Vec<String> = (0..10)
        .map(|id| {
            format!(r#"{{"resourceType":"Patient","id":"{id}","name":[{{}},{{"family":"a"}},{{"family":"b"}}]}}"#)
        })
        .collect();
    let batch = super::super::batch(type_id, &rows);
    let focus = Focus::root(&batch, type_id);
    for (expression, items) in [
        ("1 | 2 | 3", 30),
        ("(1 | 2 | 2).combine(3)", 30),
        ("'a,b,c'.split(',')", 30),
        ("'abc'.toChars().first()", 10),
        ("name.family", 20),
        ("name.family.select(1 | 2 | 3)", 60),
        ("name.family | 'a' | 'c'", 30),
    ] {
        let program = compile(expression, type_id, &CompileOptions::default()).unwrap();
        let exact = program.evaluate_at_most(&focus, items).unwrap();
        assert_eq!(exact.collection.len(), items, "{expression}");
        let max_items = items - 1;
        let error = program.evaluate_at_most(&focus, max_items).unwrap_err();
        assert_eq!(error, FhirPathError::TooMany { max_items }, "{expression}");
    }
}

/// Items below contained resources may have hundreds of types, so a short text could keep the compiler busy for long.
#[test]
fn steps_through_every_type_count_as_work() {
    let type_id = facts().lookup("Patient").unwrap();
    let compiled = |expression: &str| compile(expression, type_id, &CompileOptions::default()).map(|_| ());
    let chain = |length: usize| format!("$this{}", ".descendants()".repeat(length));
    let nested = |depth: usize| {
        (0..depth).fold("children()".to_string(), |inner, _| {
            format!("repeat({inner} | descendants())")
        })
    };
    let wide = |groups: usize| vec![format!("({})", ["descendants()"; 20].join(" | ")); groups].join(" | ");
    for expression in [chain(9), nested(2), wide(1)] {
        assert_eq!(compiled(&expression), Ok(()), "{expression}");
    }
    let refused = compiled(&wide(10));
    assert!(matches!(refused, Err(FhirPathError::TooComplex { .. })), "{refused:?}");
}
