//! The columns that a program reads: exactly those it needs.

use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{CompileOptions, compile};

fn ty(name: &str) -> TypeId {
    facts().lookup(name).unwrap()
}

#[track_caller]
fn check(root: &str, expression: &str, leaves: &[&str]) {
    let options = CompileOptions {
        search: true,
        references_alone: true,
        ..CompileOptions::default()
    };
    let program = compile(expression, ty(root), &options).unwrap();
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
    let extra = |ty: TypeId| match facts().get(ty).name {
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
        compile(expression, ty(root), &options)
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
    let names = compile("contact.name", ty("Patient"), &CompileOptions::default()).unwrap();
    let options = CompileOptions {
        context: Some(&names),
        ..CompileOptions::default()
    };
    let nested = compile("given.first()", ty("Patient"), &options).unwrap();
    let leaves: Vec<_> = nested.leaves().iter().map(String::as_str).collect();
    assert_eq!(leaves, ["contact.name._given", "contact.name.given"]);
    assert!(!nested.is_multi_valued());
    assert_eq!(nested.output_types()[0].name(), "string");
}
