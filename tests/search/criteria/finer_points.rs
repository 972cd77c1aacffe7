//! Details of R4's search page over small resources: comparators, unsuitable modifiers, escapes, chains through many
//! types, versions.

use serde_json::{Value, json};

use super::super::small::small;

fn patient(id: &str, more: Value) -> Value {
    let mut resource = json!({"resourceType": "Patient", "id": id});
    resource
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    resource
}

/// A quantity with a comparator means all numbers on one side, and compares as an open range.
#[test]
fn quantities_with_comparators() {
    let measured = |id: &str, comparator: Option<&str>, value: f64| {
        let mut quantity = json!({"value": value, "unit": "mg", "system": "http://unitsofmeasure.org", "code": "mg"});
        if let Some(comparator) = comparator {
            quantity["comparator"] = json!(comparator);
        }
        let code = json!({"coding": [{"code": "c"}]});
        json!({"resourceType": "Observation", "id": id, "status": "final", "code": code, "valueQuantity": quantity})
    };
    let world = small(&[
        measured("below", Some("<"), 5.0),
        measured("most", Some("<="), 5.0),
        measured("five", None, 5.0),
        measured("least", Some(">="), 5.0),
        measured("above", Some(">"), 5.0),
    ]);
    for (value, expected) in [
        ("5", "five"),
        ("ne5", "below most least above"),
        ("lt5", "below most"),
        ("le5", "below most five least"),
        ("gt5", "least above"),
        ("ge5", "most five least above"),
        ("eb5", "below"),
        ("sa5", "above"),
        ("ap5", "below most five least above"),
        ("gt3", "below most five least above"),
        ("lt3", "below most"),
        ("eb6", "below most five"),
        ("sa6", ""),
        ("gt8", "least above"),
    ] {
        for form in ["", "|http://unitsofmeasure.org|mg", "||mg"] {
            world.check(&[(&format!("Observation?value-quantity={value}{form}"), expected)]);
        }
        world.check(&[
            (&format!("Observation?code-value-quantity=c${value}"), expected),
            (&format!("Observation?combo-value-quantity={value}"), expected),
        ]);
    }
    world.check(&[
        ("Observation?_filter=value-quantity eq 5", "five"),
        ("Observation?_filter=value-quantity sa 5", "above"),
    ]);
}

/// A modifier is refused if the parameter's values never support it.
#[test]
fn modifiers_that_do_not_go_with_the_values() {
    let world = small(&[patient("a", json!({"gender": "male"}))]);
    world.refused(&[
        ("Patient?gender:text=male", "gender: the modifier ':text'"),
        ("Patient?active:text=true", "active: the modifier ':text'"),
        ("Patient?phone:text=1", "phone: the modifier ':text'"),
        ("Observation?code:of-type=a|b|c", "code: the modifier ':of-type'"),
        (
            "Patient?identifier:in=http://example.org/vs",
            "identifier: the modifier ':in'",
        ),
        (
            "Patient?active:not-in=http://example.org/vs",
            "active: the modifier ':not-in'",
        ),
        ("Patient?phone:below=a|b", "phone: the modifier ':below'"),
        ("Patient?_id:above=a|b", "_id: the modifier ':above'"),
        (
            "CarePlan?instantiates-canonical:identifier=a",
            "instantiates-canonical: the modifier ':identifier'",
        ),
        (
            "Patient?_filter=identifier in http://example.org/vs",
            "'in' does not go with 'identifier'",
        ),
        (
            "Patient?_has:Observation:patient:code:of-type=a|b|c",
            "code: the modifier ':of-type'",
        ),
    ]);
    world.check(&[
        ("Observation?code:text=x", ""),
        ("Patient?identifier:text=x", ""),
        ("Patient?identifier:of-type=a|b|c", ""),
        ("Observation?subject:identifier=x", ""),
    ]);
}

/// `\x` is invalid: a backslash in the value must be doubled.
#[test]
fn a_backslash_stands_before_what_it_escapes() {
    let world = small(&[
        patient("a", json!({"name": [{"family": r"dom\user"}]})),
        patient("b", json!({"name": [{"family": "domuser"}]})),
    ]);
    world.check(&[
        (r"Patient?family:exact=dom\\user", "a"),
        ("Patient?family:exact=domuser", "b"),
    ]);
    world.refused(&[
        (r"Patient?family=dom\user", "family: 'dom"),
        (r"Patient?family:exact=domuser\", "family:exact: 'domuser"),
        (r"Patient?identifier=a\\b|c\d", "identifier"),
        (r"Observation?code-value-quantity=a\b$5", "code-value-quantity"),
        (r"Observation?subject:Patient.family=a\b", "family"),
    ]);
}

/// Several types may have a parameter with the same name, and only some of these continue the chain.
#[test]
fn a_chain_goes_on_where_it_can() {
    let world = small(&[
        json!({"resourceType": "Location", "id": "l", "address": {"city": "Springfield"}}),
        json!({"resourceType": "Encounter", "id": "e", "status": "finished", "class": {"code": "AMB"},
            "location": [{"location": {"reference": "Location/l"}}]}),
        json!({"resourceType": "Provenance", "id": "v", "target": [{"reference": "Encounter/e"}],
            "recorded": "2020-01-01T00:00:00Z"}),
    ]);
    // Other targets of Provenance have a token parameter `location`.
    world.check(&[
        ("Provenance?target.location.address=spring", "v"),
        ("Provenance?target:Encounter.location.address=spring", "v"),
        ("Provenance?target.location.address=elsewhere", ""),
    ]);
    world.refused(&[("Encounter?status.name=x", "status")]);
}

/// In canonicals, a `|` precedes a version; in references it does not.
#[test]
fn references_have_no_versions_behind_a_bar() {
    let conditional = "Organization?identifier=http://example.org/ids|1";
    let world = small(&[
        json!({"resourceType": "Claim", "id": "c", "provider": {"reference": conditional}}),
        json!({"resourceType": "CarePlan", "id": "p", "instantiatesCanonical": ["http://example.org/plan|1"]}),
    ]);
    world.check(&[
        ("Claim?provider=Organization?identifier=http://example.org/ids", ""),
        (r"Claim?provider=Organization?identifier=http://example.org/ids\|1", "c"),
        ("CarePlan?instantiates-canonical=http://example.org/plan", "p"),
        ("CarePlan?instantiates-canonical=http://example.org/plan|2", ""),
    ]);
}

/// Strings ignore invisible characters and case. Tokens ignore case in all scripts.
#[test]
fn letters_count_and_nothing_else() {
    let coded = |id: &str, code: &str| {
        json!({"resourceType": "Observation", "id": id, "status": "final",
            "code": {"coding": [{"system": "http://s", "code": code, "display": code}]}})
    };
    let named = |id: &str, family: &str| {
        patient(
            id,
            json!({"name": [{"family": family}], "identifier": [{"value": family}]}),
        )
    };
    let world = small(&[
        named("sharp", "Straßer"),
        named("double", "Strasser"),
        named("soft", "Mül\u{ad}ler"),
        named("space", "\u{feff}Mu\u{308}l\u{200b}ler"),
        named("sigma", "Οδυσσεύς"),
        named("dom", "Дом"),
        coded("arzt", "ÄRZTE"),
        coded("strasse", "straße"),
    ]);
    world.check(&[
        ("Patient?family=STRASSER", "sharp double"),
        ("Patient?family=straßer", "sharp double"),
        ("Patient?family=STRAẞ", "sharp double"),
        ("Patient?family:contains=RAß", "sharp double"),
        ("Patient?family:exact=Straßer", "sharp"),
        ("Patient?family=Muller", "soft space"),
        ("Patient?family=M\u{200b}ü\u{ad}ller", "soft space"),
        ("Patient?family:exact=Müller", ""),
        ("Patient?family=ΟΔΥΣΣΕΥΣ", "sigma"),
        ("Patient?family=οδυσσευς", "sigma"),
        ("Patient?family:contains=ΕΥΣ", "sigma"),
        ("Patient?_filter=family eq \"odyss\"", ""),
        ("Patient?_filter=family eq \"οδυσσευσ\"", "sigma"),
        ("Patient?_content=müller", "soft space"),
        ("Patient?_content=strasser", "sharp double"),
        ("Patient?identifier=ДОМ", "dom"),
        ("Patient?identifier=STRASSER", "sharp double"),
        ("Patient?identifier=οδυσσεύσ", "sigma"),
        ("Observation?code=ärzte", "arzt"),
        ("Observation?code=http://s|Ärzte", "arzt"),
        ("Observation?code=arzte", ""),
        ("Observation?code=STRASSE", "strasse"),
        ("Observation?code:text=Ärz", "arzt"),
    ]);
    // Looked up in a long list.
    let others: Vec<String> = (0..80).map(|at| format!("x{at}")).collect();
    let others = others.join(",");
    world.check(&[
        (&format!("Observation?code=ärzte,STRASSE,{others}"), "arzt strasse"),
        (&format!("Patient?family=ΟΔΥΣΣ,STRASSER,{others}"), "sharp double sigma"),
        (
            &format!("Patient?family:contains=ΥΣΣ,MÜLL,{others}"),
            "soft space sigma",
        ),
    ]);
    world.refused(&[
        ("Patient?family=\u{200b}", "family: '\u{200b}' is not a string"),
        ("Patient?family:contains=\u{ad}\u{301}", "is not a string"),
        ("Observation?code:text=\u{200b}", "is not a text"),
        ("Patient?_filter=family sw \"\u{200b}\"", "is not a string"),
    ]);
}

/// Parameters without effect are ignored. A strict client gets an error instead.
#[test]
fn parameters_that_say_nothing() {
    let world = small(&[patient("a", json!({}))]);
    world.refused(&[
        ("Patient?=x", "'=x' is not a search parameter of Patient"),
        ("Patient?_sort=,,", "'_sort=,,' is not a search parameter"),
        ("?_type=Patient,Group&_sort=,", "'_sort=,' is not a search parameter"),
        ("?_type=Patient,Group&=x", "'=x' is not a search parameter"),
    ]);
    let lenient = |query: &str| {
        let scope = crate::harness::records::application("local");
        world
            .page_of(&scope, query, tabularium::search::Handling::Lenient)
            .unwrap()
    };
    for query in ["Patient?=x&_sort=,,&_id=a", "?_type=Patient,Group&_sort=,&=x&_id=a"] {
        let page = lenient(query);
        let own = page["link"][0]["url"].as_str().unwrap().to_owned();
        assert_eq!(page["entry"][0]["resource"]["id"], "a", "{query}");
        assert!(
            own.contains("_id=a") && !own.contains("sort") && !own.contains("=x"),
            "{own}"
        );
    }
}

/// Clients may list elements that every resource has anyway.
#[test]
fn elements_that_are_always_there_may_be_named() {
    let world = small(&[patient("a", json!({"birthDate": "1970-01-01", "gender": "female"}))]);
    for query in [
        "Patient?_elements=birthDate,id,resourceType",
        "?_type=Patient,Observation&_elements=birthDate,id,resourceType",
    ] {
        let page = world.page(query).unwrap_or_else(|error| panic!("{query}: {error}"));
        let shown = &page["entry"][0]["resource"];
        assert_eq!(
            (&shown["birthDate"], &shown["id"]),
            (&json!("1970-01-01"), &json!("a")),
            "{query}"
        );
        assert!(shown.get("gender").is_none(), "{query}");
    }
    let page = world.page("Patient?_elements=resourceType").unwrap();
    assert!(page["entry"][0]["resource"].get("gender").is_none());
}
