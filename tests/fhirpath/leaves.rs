//! The columns that a program reads: exactly those it needs.

use serde_json::json;
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Clip, Shredder, SystemValues};
use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{CompileOptions, compile, necessary};

fn type_named(name: &str) -> TypeId {
    facts().lookup(name).unwrap()
}

#[track_caller]
fn check(root: &str, expression: &str, leaves: &[&str]) {
    let options = CompileOptions {
        search: true,
        references_alone: true,
        ..CompileOptions::default()
    };
    let program = compile(expression, type_named(root), &options).unwrap();
    let found: Vec<&str> = program.leaves().iter().map(String::as_str).collect();
    assert_eq!(found, leaves, "{expression}");
}

#[test]
fn a_program_names_the_columns_it_reads() {
    check("Patient", "name.family", &["name._family", "name.family"]);
    check("Patient", "name", &["name"]);
    check("Patient", "name.exists()", &["name"]);
    check(
        "Observation",
        "value.ofType(Quantity).value",
        &["valueQuantity._value", "valueQuantity.value"],
    );
    check(
        "Observation",
        "code.coding.where(system = 'x').code",
        &[
            "code.coding._code",
            "code.coding._system",
            "code.coding.code",
            "code.coding.system",
        ],
    );
    check(
        "Observation",
        "subject.where(resolve() is Patient)",
        &[
            "subject",
            "subject.reference",
            "subject.reference__id",
            "subject.reference__type",
            "subject.type",
        ],
    );
    check(
        "Patient",
        "birthDate.extension.url",
        &["_birthDate.extension._url", "_birthDate.extension.url"],
    );
    check("ValueSet", "version", &["_version", "version__element"]);
    check("Patient", "Practitioner.name | 1", &[]);
    check("Patient", "getResourceKey()", &["id"]);
    check(
        "Patient",
        "name | contact.name",
        &["contact.name", "contact.name.*", "name", "name.*"],
    );
}

#[test]
fn a_caller_says_what_it_reads_below_the_result() {
    let extra = |type_id: TypeId| match facts().get(type_id).name {
        "CodeableConcept" => Some(vec!["coding.system", "coding.code"]),
        "dateTime" => Some(vec!["__start", "__end"]),
        _ => None,
    };
    let options = CompileOptions {
        extra: Some(&extra),
        duplicates: true,
        search: true,
        ..CompileOptions::default()
    };
    let leaves = |expression: &str, root: &str| -> Vec<String> {
        compile(expression, type_named(root), &options)
            .unwrap()
            .leaves()
            .iter()
            .cloned()
            .collect()
    };
    assert_eq!(
        leaves("Condition.code | Observation.code", "Observation"),
        ["code.coding.code", "code.coding.system"]
    );
    assert_eq!(
        leaves("effective as dateTime", "Observation"),
        ["effectiveDateTime__end", "effectiveDateTime__start"]
    );
}

#[test]
fn leaves_of_a_nested_program_are_the_tables() {
    let names = compile("contact.name", type_named("Patient"), &CompileOptions::default()).unwrap();
    let options = CompileOptions {
        context: Some(&names),
        ..CompileOptions::default()
    };
    let nested = compile("given.first()", type_named("Patient"), &options).unwrap();
    let leaves: Vec<_> = nested.leaves().iter().map(String::as_str).collect();
    assert_eq!(leaves, ["contact.name._given", "contact.name.given"]);
    assert!(!nested.is_multi_valued());
    assert_eq!(nested.output_types()[0].name(), "string");
}

/// Sets tell elements without a value apart by their ids and extensions, also where an expression uses nothing else of
/// them.
#[test]
fn what_sets_compare_is_read() {
    let refused = json!({"extension": [{"url": "u", "valueCode": "refused"}]});
    let unknown = json!({"extension": [{"url": "u", "valueCode": "unknown"}]});
    let patient = json!({"resourceType": "Patient", "id": "p", "_birthDate": unknown,
        "name": [{"given": [null, null, null, "A"], "_given": [refused, unknown, refused]}],
        "extension": [{"url": "u", "_valueString": refused}, {"url": "u", "_valueString": unknown}]});
    for (expression, expected) in [
        ("name.given.distinct().count()", "Integer 3"),
        ("name.given.isDistinct()", "Boolean false"),
        ("(name.given | name.given).count()", "Integer 3"),
        ("name.given.union(birthDate).count()", "Integer 3"),
        ("name.given.intersect(birthDate).count()", "Integer 1"),
        ("name.given.exclude(birthDate).count()", "Integer 3"),
        ("name.given.subsetOf(name.given[0])", "Boolean false"),
        ("name.given.supersetOf(birthDate)", "Boolean true"),
        ("extension.value.distinct().count()", "Integer 2"),
        ("name.repeat(given).count()", "Integer 3"),
    ] {
        let program = compile(expression, type_named("Patient"), &CompileOptions::default()).unwrap();
        let clip = Clip::new(type_named("Patient"), program.leaves());
        let (mut shredder, mut tape) = (Shredder::clipped(&clip), Tape::new());
        let text = patient.to_string();
        shredder
            .push(&SystemValues::outside("p", &text), tape.parse(text.as_bytes()).unwrap())
            .unwrap();
        let evaluation = program.evaluate(&shredder.finish().unwrap()).unwrap();
        assert_eq!(super::generated::rows::answer(&evaluation, 0), expected, "{expression}");
    }
}

/// A scan decides decimals by the column of their numbers, times 10^18.
#[test]
fn comparisons_of_decimals_are_ranges_of_their_numbers() {
    let refuted = |expression: &str| {
        let options = CompileOptions::default();
        let found = necessary(expression, type_named("Observation"), &options).unwrap();
        found.unwrap().prune.to_string()
    };
    for (expression, expected) in [
        (
            "value.ofType(Quantity).value > 5",
            "valueQuantity.value__number >= 5000000000000000000",
        ),
        (
            "5.5 >= value.ofType(Quantity).value",
            "valueQuantity.value__number <= 5500000000000000000",
        ),
        (
            "component.value.ofType(Quantity).where(value = 5.50).exists()",
            "component.valueQuantity.value__number in 5500000000000000000..=5500000000000000000",
        ),
        // The column does not hold so many digits.
        ("value.ofType(Quantity).value < 5.0000000000000000001", "true"),
        ("value.ofType(Quantity).value != 5", "true"),
    ] {
        let found = refuted(expression);
        assert!(found.contains(expected), "{expression}: {found}");
    }
}
