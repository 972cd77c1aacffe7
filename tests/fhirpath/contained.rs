//! Steps into resources that columns store as JSON text: `contained`, entries of Bundles, Parameters.

use proptest::prelude::*;
use tabularium::fhir::facts;
use tabularium::fhir::storage::LeafSet;
use tabularium::fhirpath::{Collection, CompileOptions, FhirPathError, Focus, Program, compile};

const REQUEST: &str = r##"{"resourceType":"MedicationRequest","id":"r1","status":"active","intent":"order",
    "contained":[
        {"resourceType":"Medication","id":"m","code":{"text":"Aspirin"},"manufacturer":{"reference":"#o"},
         "extension":[{"url":"u","valueString":"x"}]},
        {"resourceType":"Organization","id":"o","name":"Works","partOf":{"reference":"#"}},
        {"resourceType":"Patient","id":"p","name":[{"family":"Chalmers","given":["Peter","James"]}],"birthDate":"1974-12-25"},
        {"resourceType":"Wish","id":"w","name":"none"},
        {"id":"untyped"},
        {"resourceType":"Patient","id":"twice","gender":"male","gender":"female"}],
    "medicationReference":{"reference":"#m"},"subject":{"reference":"#p"},"requester":{"reference":"Practitioner/9"},
    "recorder":{"reference":"#gone"}}"##;

const BUNDLE: &str = r##"{"resourceType":"Bundle","id":"b","type":"collection","entry":[
    {"fullUrl":"https://a.org/fhir/Patient/1","resource":{"resourceType":"Patient","id":"1","name":[{"family":"One"}],
        "generalPractitioner":[{"reference":"#gp"}],
        "contained":[{"resourceType":"Practitioner","id":"gp","name":[{"family":"Doctor"}]}]}},
    {"fullUrl":"https://b.org/fhir/Patient/1","resource":{"resourceType":"Patient","id":"1","name":[{"family":"Other"}]}},
    {"fullUrl":"https://a.org/fhir/Observation/o","resource":{"resourceType":"Observation","id":"o","status":"final",
        "code":{"text":"weight"},"subject":{"reference":"Patient/1"},
        "performer":[{"reference":"https://b.org/fhir/Patient/1"},{"reference":"Patient/2"},{"reference":"urn:uuid:7"}],
        "valueQuantity":{"value":70.50,"unit":"kg"}}},
    {"fullUrl":"urn:uuid:7","resource":{"resourceType":"Organization","id":"org","name":"Clinic"}},
    {"fullUrl":"urn:uuid:8","resource":{"resourceType":"Encounter","id":"e","serviceProvider":{"reference":"Organization/org"}}},
    {"response":{"status":"400","outcome":{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"invalid"}]}}}]}"##;

fn program(expression: &str, resource: &str) -> Result<Program, FhirPathError> {
    compile(expression, type_of(resource), &CompileOptions::default())
}

fn type_of(resource: &str) -> tabularium::fhir::TypeId {
    let json: serde_json::Value = serde_json::from_str(resource).unwrap();
    facts().lookup(json["resourceType"].as_str().unwrap()).unwrap()
}

fn shown(collection: &Collection, row: usize) -> String {
    let mut out = String::new();
    for item in collection.range(row) {
        let (items, item) = collection.item(item);
        if !out.is_empty() {
            out.push(' ');
        }
        items.write_json(item, &mut out);
    }
    out
}

/// The result of an expression for one resource, or its error.
fn of(resource: &str, expression: &str) -> String {
    let program = match program(expression, resource) {
        Ok(program) => program,
        Err(error) => return format!("not compiled: {error}"),
    };
    let batch = super::batch(type_of(resource), &[resource.to_string()]);
    match program.evaluate(&batch).and_then(|evaluation| evaluation.strict()) {
        Ok(collection) => shown(&collection, 0),
        Err(error) => format!("error: {error}"),
    }
}

#[track_caller]
fn check(resource: &str, cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(of(resource, expression), *expected, "{expression}");
    }
}

#[test]
fn elements_of_contained_resources() {
    check(
        REQUEST,
        &[
            ("contained.count()", "6"),
            ("contained.id", r#""m" "o" "p""#),
            (
                "contained.name",
                r#""Works" {"family":"Chalmers","given":["Peter","James"]}"#,
            ),
            ("contained.name.given", r#""Peter" "James""#),
            ("contained.where(id = 'm').code.text", r#""Aspirin""#),
            ("contained[2].name.family", r#""Chalmers""#),
            ("contained[3].name", ""),
            ("contained[4].id", ""),
            ("contained[5].gender", ""),
            ("contained.extension.value", r#""x""#),
            ("contained.extension('u').value", r#""x""#),
            ("contained.birthDate < @1980", "true"),
            ("contained.birthDate + 1 year", r#""1975-12-25""#),
            ("contained.where(name.exists()).select(id)", r#""o" "p""#),
            ("contained.select(name | id).count()", "5"),
            ("contained.aggregate($total & id, '')", r#""mop""#),
            ("contained.where($index = 1).name", r#""Works""#),
            ("contained.getResourceKey()", r#""m" "o" "p""#),
            ("contained.ofType(Medication).manufacturer.getReferenceKey()", ""),
            ("contained.all(name.exists())", "false"),
            ("contained.sort(id).id", r#""m" "o" "p""#),
        ],
    );
}

#[test]
fn types_of_contained_resources() {
    check(
        REQUEST,
        &[
            ("contained.ofType(Patient).name.family", r#""Chalmers""#),
            ("contained.ofType(Patient).count()", "2"),
            ("(contained[0] as Medication).code.text", r#""Aspirin""#),
            ("contained.where($this is Organization).name", r#""Works""#),
            (
                "contained.select($this is DomainResource)",
                "true true true false false true",
            ),
            ("contained[0] is Medication", "true"),
            ("contained[0].is(FHIR.Patient)", "false"),
            ("contained.first().type().name", r#""Medication""#),
            (
                "contained.type().name.distinct()",
                r#""Medication" "Organization" "Patient" "Resource""#,
            ),
            ("contained.ofType(Bundle).count()", "0"),
            ("contained.ofType(DomainResource).id", r#""m" "o" "p""#),
            ("contained.ofType(Resource).count()", "6"),
            (
                "contained.ofType(Patient).foo",
                "not compiled: Patient has no element 'foo' (line 1, column 27)",
            ),
            (
                "contained.ofType(Patient).code",
                "not compiled: Patient has no element 'code' (line 1, column 27)",
            ),
            (
                "contained.foo",
                "not compiled: Resource has no element 'foo' (line 1, column 11)",
            ),
            (
                "contained.name.foo",
                "not compiled: string or MedicinalProduct.name or HumanName or SubstanceSpecification.name has no element 'foo' \
                 (line 1, column 16)",
            ),
        ],
    );
}

#[test]
fn contained_resources_as_values() {
    let medication = r##"{"resourceType":"Medication","id":"m","code":{"text":"Aspirin"},"manufacturer":{"reference":"#o"},
         "extension":[{"url":"u","valueString":"x"}]}"##;
    check(
        REQUEST,
        &[
            ("contained.first()", medication),
            ("contained.ofType(Medication)", medication),
            ("contained[0] = contained[0]", "true"),
            ("contained[0] = contained[1]", "false"),
            ("contained[0] ~ contained.ofType(Medication)", "true"),
            ("(contained | contained).count()", "6"),
            ("contained.combine(contained).distinct().count()", "6"),
            ("contained.combine(contained).isDistinct()", "false"),
            ("contained[1] in contained", "true"),
            ("contained.intersect(contained.ofType(Patient)).count()", "2"),
            ("contained.exclude(contained.ofType(Patient)).count()", "4"),
        ],
    );
    let twice = r#"{"resourceType":"Patient","contained":[{"resourceType":"Group","id":"g","quantity":1},
        {"quantity" : 1, "id":"g", "resourceType":"Group"}]}"#;
    check(
        twice,
        &[
            ("contained[0] = contained[1]", "true"),
            ("contained.distinct().count()", "1"),
        ],
    );
}

#[test]
fn the_tree_goes_on_in_contained_resources() {
    check(
        REQUEST,
        &[
            ("contained.children().count()", "10"),
            ("contained.descendants().ofType(HumanName).family", r#""Chalmers""#),
            ("descendants().ofType(HumanName).family", r#""Chalmers""#),
            ("descendants().where($this is Organization).name", r#""Works""#),
            ("repeat(contained).id", r#""m" "o" "p""#),
            ("repeat(children()).ofType(HumanName).given", r#""Peter" "James""#),
            ("contained.ofType(Medication).children().count()", "4"),
        ],
    );
}

#[test]
fn references_to_contained_resources() {
    let elsewhere = "error: a step into the target of a reference that does not lie in the same resource is not supported \
                     (line 1, column 21)";
    check(
        REQUEST,
        &[
            ("subject.resolve().name.family", r#""Chalmers""#),
            ("medication.resolve().code.text", r#""Aspirin""#),
            (
                "medication.ofType(Reference).resolve().manufacturer.resolve().name",
                r#""Works""#,
            ),
            ("contained.ofType(Organization).partOf.resolve().id", r#""r1""#),
            ("contained.ofType(Organization).partOf.resolve().intent", r#""order""#),
            ("subject.resolve() is Patient", "true"),
            ("subject.resolve() is Group", "false"),
            ("requester.resolve() is Practitioner", "true"),
            ("requester.resolve().name", elsewhere),
            ("recorder.resolve().exists()", "false"),
            ("recorder.resolve().name", ""),
            ("subject.where(resolve() is Patient).reference", r##""#p""##),
            ("subject.resolve().getResourceKey()", r#""p""#),
            ("(subject | requester).resolve().count()", "2"),
            (
                "subject.resolve().foo",
                "not compiled: Resource has no element 'foo' (line 1, column 19)",
            ),
        ],
    );
}

#[test]
fn entries_of_bundles() {
    check(
        BUNDLE,
        &[
            ("entry.resource.count()", "5"),
            ("entry.resource.ofType(Patient).name.family", r#""One" "Other""#),
            ("entry.resource.ofType(Observation).value.value", "70.50"),
            (
                "entry.resource.ofType(Observation).value.ofType(Quantity).unit",
                r#""kg""#,
            ),
            ("entry.resource.name", r#"{"family":"One"} {"family":"Other"} "Clinic""#),
            ("entry.response.outcome.issue.code", r#""invalid""#),
            ("entry.where(resource is Patient).fullUrl.count()", "2"),
            ("entry.resource.contained.name.family", r#""Doctor""#),
            (
                "entry.resource.generalPractitioner.resolve().name.family",
                r#""Doctor""#,
            ),
            (
                "entry.resource.ofType(Observation).subject.resolve().name.family",
                r#""One""#,
            ),
            (
                "entry.resource.ofType(Observation).performer[0].resolve().name.family",
                r#""Other""#,
            ),
            (
                "entry.resource.ofType(Observation).performer[2].resolve().name",
                r#""Clinic""#,
            ),
            (
                "entry.resource.ofType(Observation).performer[1].resolve() is Patient",
                "true",
            ),
            ("entry.resource.serviceProvider.resolve().name", r#""Clinic""#),
            ("descendants().ofType(HumanName).family", r#""One" "Other" "Doctor""#),
            ("entry[2].resource.code.text", r#""weight""#),
        ],
    );
    let parameters = r#"{"resourceType":"Parameters","parameter":[{"name":"a","resource":
        {"resourceType":"Patient","id":"p","active":true}},{"name":"b","part":[{"name":"c","resource":{"resourceType":"Group","id":"g"}}]}]}"#;
    check(
        parameters,
        &[
            ("parameter.resource.active", "true"),
            ("parameter.part.resource.id", r#""g""#),
            ("descendants().where($this is Group).id", r#""g""#),
            ("parameter.repeat(part).resource.id", r#""g""#),
        ],
    );
}

/// Evaluates `inner` on each result of `outer`.
fn on_items(resource: &str, outer: &str, inner: &str) -> String {
    let outer = program(outer, resource).unwrap();
    let options = CompileOptions {
        context: Some(&outer),
        ..CompileOptions::default()
    };
    let inner = compile(inner, type_of(resource), &options).unwrap();
    let root = Focus::root(
        &super::batch(type_of(resource), &[resource.to_string()]),
        type_of(resource),
    );
    let focus = root.enter(&outer.evaluate_on(&root).unwrap().strict().unwrap());
    let found = inner.evaluate_on(&focus).unwrap().strict().unwrap();
    let rows: Vec<String> = (0..found.rows()).map(|row| shown(&found, row)).collect();
    rows.join("; ")
}

#[test]
fn the_resource_of_the_context() {
    let cases = [
        (REQUEST, "contained.ofType(Patient).name", "%resource.id", r#""p""#),
        (REQUEST, "contained.ofType(Patient).name", "%rootResource.id", r#""r1""#),
        (
            REQUEST,
            "contained.ofType(Patient).name.given",
            "%resource.birthDate",
            r#""1974-12-25"; "1974-12-25""#,
        ),
        (
            REQUEST,
            "contained.ofType(Medication)",
            "%resource.code.text",
            r#""Aspirin""#,
        ),
        (
            REQUEST,
            "contained.ofType(Medication)",
            "%context.code.text",
            r#""Aspirin""#,
        ),
        (
            REQUEST,
            "contained.ofType(Medication)",
            "%rootResource.intent",
            r#""order""#,
        ),
        (
            REQUEST,
            "subject | contained.ofType(Medication).code",
            "%resource.id",
            r#""r1"; "m""#,
        ),
        (
            REQUEST,
            "$this",
            "contained.ofType(Medication).select(%resource.id)",
            r#""r1""#,
        ),
        (
            BUNDLE,
            "entry.resource.contained",
            "%resource.id & %rootResource.id",
            r#""gp1""#,
        ),
        (
            BUNDLE,
            "entry.resource.ofType(Patient).name",
            "%rootResource.id",
            r#""1"; "1""#,
        ),
        (BUNDLE, "entry", "%rootResource.id", r#""b"; "b"; "b"; "b"; "b"; "b""#),
        (
            BUNDLE,
            "entry.resource.ofType(Patient)",
            "getResourceKey()",
            r#""1"; "1""#,
        ),
        (
            BUNDLE,
            "entry.resource",
            "name.family | name.ofType(string)",
            r#""One"; "Other"; ; "Clinic"; "#,
        ),
    ];
    for (resource, outer, inner, expected) in cases {
        assert_eq!(on_items(resource, outer, inner), expected, "{outer} / {inner}");
    }
}

#[test]
fn the_column_of_texts_is_the_leaf() {
    let leaves = |resource: &str, expression: &str| program(expression, resource).unwrap().leaves().clone();
    let set = |paths: &[&str]| paths.iter().map(|path| path.to_string()).collect::<LeafSet>();
    assert_eq!(leaves(REQUEST, "contained.name.family"), set(&["contained"]));
    assert_eq!(
        leaves(REQUEST, "contained.ofType(Patient).name.where(use = 'official').given"),
        set(&["contained"])
    );
    assert_eq!(
        leaves(BUNDLE, "entry.resource.ofType(Patient).birthDate"),
        set(&["entry.resource"])
    );
    let search = CompileOptions {
        references_alone: true,
        ..CompileOptions::default()
    };
    let program = compile("subject.resolve() is Patient", type_of(REQUEST), &search).unwrap();
    assert!(!program.leaves().contains("contained"));
    assert!(leaves(REQUEST, "subject.resolve() is Patient").contains("contained"));
}

#[test]
fn columns_of_foreign_text_hold_nothing() {
    use arrow::array::{ArrayRef, ListArray, RecordBatch, StringArray};
    use arrow::buffer::OffsetBuffer;
    use std::sync::Arc;
    let texts = StringArray::from(vec![
        Some(r#"{"resourceType":"Patient","id":"p"}"#),
        Some("{"),
        Some("[1]"),
        None,
        Some("\"resourceType\""),
        Some(r#"{"resourceType":7,"id":7}"#),
        Some(r#"{"resourceType":"HumanName","id":"n"}"#),
        Some(r#"{"resourceType":"DomainResource","id":"d"}"#),
    ]);
    let field = arrow::datatypes::Field::new("element", arrow::datatypes::DataType::Utf8, true);
    let list = ListArray::new(
        field.into(),
        OffsetBuffer::new(vec![0, 3, 8].into()),
        Arc::new(texts),
        None,
    );
    let batch = RecordBatch::try_from_iter([("contained", Arc::new(list) as ArrayRef)]).unwrap();
    let patient = facts().lookup("Patient").unwrap();
    let cases = [
        ("contained.id", [r#""p""#, ""]),
        ("contained.is(Patient)", ["", ""]),
        ("contained.where($this is Patient).id", [r#""p""#, ""]),
        ("contained.descendants().count()", ["1", "0"]),
        ("contained.distinct().count()", ["3", "4"]),
        ("contained.getResourceKey()", [r#""p""#, ""]),
        (
            "contained.type().name",
            [
                r#""Patient" "Resource" "Resource""#,
                r#""Resource" "Resource" "Resource" "Resource""#,
            ],
        ),
    ];
    for sliced in [false, true] {
        let batch = if sliced { batch.slice(1, 1) } else { batch.clone() };
        for (expression, expected) in &cases {
            let found = compile(expression, patient, &CompileOptions::default()).unwrap();
            let found = found.evaluate(&batch).unwrap().lenient();
            let rows: Vec<String> = (0..found.rows()).map(|row| shown(&found, row)).collect();
            assert_eq!(rows, &expected[usize::from(sliced)..], "{expression}");
        }
    }
}

/// Resources of several types that contain others in several orders.
fn arbitrary() -> impl Strategy<Value = String> {
    let inner = prop_oneof![
        (0..3u8, "[a-c]{0,3}").prop_map(|(id, text)| format!(r#"{{"resourceType":"Medication","id":"{id}","code":{{"text":"{text}"}}}}"#)),
        (0..3u8, "[a-c]{1,3}", "[a-c]{0,2}").prop_map(|(id, family, given)| format!(
            r#"{{"resourceType":"Patient","id":"{id}","name":[{{"family":"{family}","given":["{given}","x"]}}],"active":true}}"#
        )),
        (0..3u8, 0..4u8).prop_map(|(id, other)| format!(
            r##"{{"resourceType":"Organization","name":"{id}","partOf":{{"reference":"#{other}"}}}}"##
        )),
        Just(r#"{"resourceType":"Wish","id":"0"}"#.to_string()),
        Just(r#"{"resourceType":"Patient","id":"0","id":"0","active":true,"active":false}"#.to_string()),
    ];
    (proptest::collection::vec(inner, 0..5), 0..4u8).prop_map(|(contained, subject)| {
        let contained = if contained.is_empty() {
String::new()
} else {
format!(r#""contained":[{}],"#, contained.join(","))
};
        format!(r##"{{"resourceType":"MedicationRequest",{contained}"subject":{{"reference":"#{subject}"}},"status":"active"}}"##)
    })
}

const EXPRESSIONS: [&str; 16] = [
    "contained",
    "contained.id",
    "contained.name",
    "contained.name.given.first()",
    "contained.where(name.exists()).last().name",
    "contained.ofType(Patient).name.family | contained.ofType(Medication).code.text",
    "contained.select(type().name & id)",
    "contained.distinct().count()",
    "contained.single().id",
    "contained[1].active",
    "contained.children()",
    "descendants()",
    "subject.resolve().name",
    "contained.partOf.resolve()",
    "subject.resolve() is Patient",
    "contained.select(iif($this is Patient, name.single().family, name.single()))",
];

proptest! {
    #[test]
    fn a_row_alone_gives_what_it_gives_in_the_batch(rows in proptest::collection::vec(arbitrary(), 1..6), from in 0..6usize) {
        let type_id = facts().lookup("MedicationRequest").unwrap();
        let batch = super::batch(type_id, &rows);
        let from = from.min(rows.len() - 1);
        let sliced = batch.slice(from, rows.len() - from);
        for expression in EXPRESSIONS {
            let program = compile(expression, type_id, &CompileOptions::default()).unwrap();
            let (whole, part) = (program.evaluate(&batch).unwrap(), program.evaluate(&sliced).unwrap());
            for (row, text) in rows.iter().enumerate() {
                let alone = program.evaluate(&super::batch(type_id, std::slice::from_ref(text))).unwrap();
                let expected = (shown(&alone.collection, 0), alone.faults.first().map(|fault| fault.error.clone()));
                let error = |faults: &[tabularium::fhirpath::Fault], row: usize| {
                    faults.iter().find(|fault| fault.row as usize == row).map(|fault| fault.error.clone())
                };
                prop_assert_eq!(&(shown(&whole.collection, row), error(&whole.faults, row)), &expected, "{}", expression);
                if row >= from {
                    let of_part = (shown(&part.collection, row - from), error(&part.faults, row - from));
                    prop_assert_eq!(&of_part, &expected, "{} in a slice", expression);
                }
            }
        }
    }
}
