//! Variables that an expression defines: their scope and the forbidden names.

use super::functions::check;

#[test]
fn a_variable_is_seen_in_what_follows() {
    check(&[
        ("defineVariable('v', 'value').select(%v)", r#""value""#),
        (
            "defineVariable('n', name.first()).select(%n.given)",
            r#""Peter" "James""#,
        ),
        (
            "defineVariable('n', name.first()).where(active.not()) | defineVariable('m', name.skip(1).first()).select(%m.given)",
            r#""Jim""#,
        ),
        (
            "defineVariable('n', name.first()).select(%n.given) | defineVariable('n', name[1]).select(%n.given)",
            r#""Peter" "James" "Jim""#,
        ),
        (
            "'a'.defineVariable('r', 'x').select(defineVariable('s', $this & %r).select(%s | %r)).select($this & %r)",
            r#""axx" "xx""#,
        ),
        ("name.defineVariable('one', first()).exists(%one.use = use)", "true"),
        (
            "defineVariable('a', name).defineVariable('b', %a.given.first()).select(%b)",
            r#""Peter""#,
        ),
        (
            "'aaa'.replace(defineVariable('p', 'aaa').select(%p), defineVariable('p', 'bbb').select(%p))",
            r#""bbb""#,
        ),
        (
            "telecom.defineVariable('t').where(rank = %t.rank).select(%t.count())",
            "2",
        ),
        (
            "name.aggregate($total.defineVariable('t').select(%t) & use.first(), '')",
            r#""officialusualmaiden""#,
        ),
        (
            "defineVariable(`x`, 1).select(1)",
            "!defineVariable() takes a name written as a string (line 1, column 1)",
        ),
    ]);
}

#[test]
fn a_variable_is_not_seen_elsewhere_and_defined_once() {
    let unknown = |place: &str| format!("!%n is not defined ({place})");
    for (expression, place) in [
        ("%n", "line 1, column 1"),
        (
            "name.select(defineVariable('n').given).where(%n.exists())",
            "line 1, column 46",
        ),
        ("defineVariable('n', 1).active | %n", "line 1, column 33"),
        ("iif(defineVariable('n', 1).active, %n)", "line 1, column 36"),
    ] {
        assert_eq!(super::functions::yields(expression), unknown(place), "{expression}");
    }
    for expression in [
        "defineVariable('n', 1).defineVariable('n', 2)",
        "defineVariable('n', 1).select(defineVariable('n', 2))",
        "defineVariable('context', 1)",
        "defineVariable('ucum')",
        "defineVariable('vs-x', 1)",
    ] {
        let found = super::functions::yields(expression);
        assert!(found.contains("which is defined already"), "{expression}: {found}");
    }
    check(&[(
        "defineVariable('a' & 'b', 1)",
        "!defineVariable() takes a name written as a string (line 1, column 1)",
    )]);
}

#[test]
fn external_constants_have_names_of_several_forms() {
    check(&[
        (
            "%vs-administrative-gender",
            r#""http://hl7.org/fhir/ValueSet/administrative-gender""#,
        ),
        ("%'vs-x'", r#""http://hl7.org/fhir/ValueSet/x""#),
        (
            "%`ext-patient-birthTime`",
            r#""http://hl7.org/fhir/StructureDefinition/patient-birthTime""#,
        ),
        ("%ext-birthTime.length()", "49"),
        (
            "%sct | %loinc | %ucum",
            r#""http://snomed.info/sct" "http://loinc.org" "http://unitsofmeasure.org""#,
        ),
        (
            "name.first().select(%context.active and %resource.active and %rootResource.active)",
            "true",
        ),
        ("1 + %unknown", "!%unknown is not defined (line 1, column 5)"),
    ]);
}

#[test]
fn repetition_that_never_ends_is_refused() {
    check(&[(
        "1.repeatAll($this)",
        "!evaluating the expression yields more than a batch may hold",
    )]);
}
