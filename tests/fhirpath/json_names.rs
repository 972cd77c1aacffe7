//! JSON's names for elements with other FHIRPath names: their meaning, their warnings, and the cases that stay errors.

use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, FhirPathError, Program, compile};

fn program(expression: &str, resource_type: &str) -> Result<Program, FhirPathError> {
    let options = CompileOptions {
        json_names: true,
        ..CompileOptions::default()
    };
    compile(expression, facts().lookup(resource_type).unwrap(), &options)
}

fn found(expression: &str, resource: &Value) -> String {
    let program = program(expression, resource["resourceType"].as_str().unwrap()).unwrap();
    let type_id = facts().lookup(resource["resourceType"].as_str().unwrap()).unwrap();
    let collection = program
        .evaluate(&super::batch(type_id, &[resource.to_string()]))
        .and_then(|evaluation| evaluation.strict())
        .unwrap();
    let json = |item| {
        let (items, item) = collection.item(item);
        let mut json = String::new();
        items.write_json(item, &mut json);
        json
    };
    collection.range(0).map(json).collect::<Vec<_>>().join(" ")
}

fn observation() -> Value {
    json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
        "effectiveDateTime": "2024-01-02", "valueQuantity": {"value": 2.5, "unit": "mg"},
        "subject": {"reference": "Patient/p"},
        "component": [{"code": {"text": "a"}, "valueString": "s"}, {"code": {"text": "b"}, "valueInteger": 4}],
        "extension": [{"url": "u", "valueCoding": {"code": "c"}}, {"url": "v", "valueCode": "k"}],
        "contained": [
            {"resourceType": "Organization", "id": "org", "name": "Clinic", "identifier": [{"value": "7"}]},
            {"resourceType": "Practitioner", "id": "dr", "name": [{"family": "Who"}], "identifier": [{"value": "8"}]},
            {"resourceType": "Observation", "id": "in", "status": "final", "code": {"text": "y"}, "valueString": "deep"}]})
}

#[test]
fn a_choices_property_is_the_choice_as_that_type() {
    for (expression, standard, expected) in [
        ("valueQuantity.value", "value.ofType(Quantity).value", "2.5"),
        ("effectiveDateTime", "effective.ofType(dateTime)", r#""2024-01-02""#),
        ("component.valueString", "component.value.ofType(string)", r#""s""#),
        ("component.valueInteger + 1", "component.value.ofType(integer) + 1", "5"),
        (
            "extension.where(url = 'u').valueCoding.code",
            "extension('u').value.ofType(Coding).code",
            r#""c""#,
        ),
        ("extension.valueCode", "extension.value.ofType(code)", r#""k""#),
        ("valueString", "value.ofType(string)", ""),
        (
            "component.exists(valueString = 's')",
            "component.exists(value.ofType(string) = 's')",
            "true",
        ),
        (
            "contained.valueString",
            "contained.ofType(Observation).value.ofType(string)",
            r#""deep""#,
        ),
        ("%resource.valueQuantity.unit", "value.ofType(Quantity).unit", r#""mg""#),
    ] {
        assert_eq!(found(expression, &observation()), expected, "{expression}");
        assert_eq!(found(standard, &observation()), expected, "{standard}");
        let (json, standard) = (
            program(expression, "Observation").unwrap(),
            program(standard, "Observation").unwrap(),
        );
        assert!(
            !json.json_names().is_empty() && standard.json_names().is_empty(),
            "{expression}"
        );
        if !expression.contains("contained") && !expression.starts_with("extension.where") {
            assert_eq!(json.leaves(), standard.leaves(), "{expression}");
        }
        assert_eq!(json.output_types(), standard.output_types(), "{expression}");
    }
}

#[test]
fn the_resource_type_is_the_name_of_the_type() {
    for (expression, expected) in [
        ("resourceType", r#""Observation""#),
        (
            "contained.resourceType",
            r#""Organization" "Practitioner" "Observation""#,
        ),
        ("contained.where(resourceType = 'Organization').name", r#""Clinic""#),
        (
            "contained.where(resourceType = 'Organization').identifier.value",
            r#""7""#,
        ),
        (
            "contained.where('Practitioner' = $this.resourceType and id = 'dr').name.family",
            r#""Who""#,
        ),
        (
            "contained.where(resourceType = 'Organization' or resourceType = 'Practitioner').id",
            r#""org" "dr""#,
        ),
        ("contained.where(resourceType = 'Patient').id", ""),
        ("contained.where(resourceType = 'Nothing').id", ""),
        ("subject.resolve().resourceType", r#""Patient""#),
        ("where(resourceType = 'Observation').status", r#""final""#),
        ("where(resourceType = 'Patient').status", ""),
    ] {
        assert_eq!(found(expression, &observation()), expected, "{expression}");
    }
    let narrowed = program("contained.where(resourceType = 'Organization').name", "Observation").unwrap();
    let names: Vec<&str> = narrowed
        .output_types()
        .iter()
        .map(|item_type| item_type.name())
        .collect();
    assert_eq!(names, ["string"]);
    // R4 has an element with this name, and the name means that element.
    let scenario = json!({"resourceType": "ExampleScenario", "status": "draft",
        "instance": [{"resourceId": "a", "resourceType": "Patient", "name": "n"}]});
    assert_eq!(
        found("instance.where(resourceType = 'Patient').name", &scenario),
        r#""n""#
    );
    assert!(
        program("instance.resourceType", "ExampleScenario")
            .unwrap()
            .json_names()
            .is_empty()
    );
}

#[test]
fn what_fhirpath_has_is_said_with_its_place() {
    let names = program("code.text |\n  component.valueString", "Observation").unwrap();
    let said: Vec<String> = names.json_names().iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["'valueString' is JSON's name, and FHIRPath has value.ofType(string) (line 2, column 13)"]
    );
    let repeated = program("component.repeat(extension).valueCode", "Observation").unwrap();
    assert_eq!(repeated.json_names().len(), 1);
    assert!(
        program("component.valueStrin", "Observation").is_err() && program("code.resourceType", "Observation").is_err()
    );
}

#[test]
fn without_being_asked_for_they_are_errors() {
    let type_id = facts().lookup("Observation").unwrap();
    for (expression, standard) in [
        ("valueQuantity", "value.ofType(Quantity)"),
        ("resourceType", "type().name"),
    ] {
        let error = compile(expression, type_id, &CompileOptions::default()).unwrap_err();
        assert!(error.to_string().contains(standard), "{error}");
    }
}
