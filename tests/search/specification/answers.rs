//! The examples about results, and about unknown and empty parameters.

use serde_json::{Value, json};
use tabularium::search::Handling;

use super::{observation, patient};
use crate::harness::records;
use crate::search::corpus::{link, resources};
use crate::search::small::small;

#[test]
fn what_is_returned() {
    let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\">x</div>";
    let world = small(&[
        patient(
            "p",
            json!({"active": true, "identifier": [{"value": "1"}], "link": [{"other": {"reference": "Patient/q"}, "type": "seealso"}],
            "photo": [{"title": "x"}], "text": {"status": "generated", "div": div}}),
        ),
        patient("q", json!({"photo": [{"title": "y"}], "birthDate": "2000-01-01"})),
        observation(
            "o",
            json!({"subject": {"reference": "Patient/p"}, "note": [{"text": "n"}], "text": {"status": "generated", "div": div}}),
        ),
    ]);
    let only = |query: &str, mode: &str| resources(&world.page(query).unwrap(), mode).remove(0);
    let names = |resource: &Value| {
        resource
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        names(&only("Observation?_summary=true", "match")),
        "code id meta resourceType status subject"
    );
    assert_eq!(
        names(&only("Observation?_summary=text", "match")),
        "code id meta resourceType status text"
    );
    assert_eq!(
        names(&only("Observation?_summary=data", "match")),
        "code id meta note resourceType status subject"
    );
    assert_eq!(
        names(&only("Observation?_summary=false", "match")),
        "code id note resourceType status subject text"
    );
    let counted = world.page("Patient?_summary=count").unwrap();
    assert_eq!((&counted["total"], &counted["entry"]), (&json!(2), &Value::Null));
    let counted = world.page("Patient?_count=0").unwrap();
    assert_eq!((&counted["total"], link(&counted, "next")), (&json!(2), None));
    assert_eq!(
        names(&only("Patient?_elements=identifier,active,link&_id=p", "match")),
        "active id identifier link meta resourceType"
    );
    // `_elements` does not apply to included resources.
    let included = only("Observation?_elements=status&_include=Observation:subject", "include");
    assert!(included["photo"].is_array() && included["meta"].is_null(), "{included}");
    world.refused(&[
        ("Observation?_summary=text&_include=Observation:subject", "_summary"),
        ("Observation?_summary=short", "_summary"),
        ("Observation?_elements=nothing", "nothing"),
        ("Patient?_count=-1", "_count"),
        ("Patient?_contained=maybe", "_contained"),
        ("Patient?_containedType=all", "_containedType"),
    ]);
    assert_eq!(world.page("Patient?_total=accurate&_count=1").unwrap()["total"], 2);
    assert_eq!(world.page("Patient?_total=none").unwrap()["total"], Value::Null);
}

/// A server may ignore unknown parameters and show that by the `self` link. It must refuse a named query. An empty
/// parameter is not an error unless the client is strict.
#[test]
fn unknown_and_blank_parameters() {
    let world = small(&[patient("a", json!({"gender": "male"})), patient("b", json!({}))]);
    let application = records::application("local");
    let lenient = |query: &str| world.page_of(&application, query, Handling::Lenient);
    for query in [
        "Patient?nothing=1&gender=male",
        "Patient?family=&gender=male",
        "Patient?family:exact=&_has:Observation:patient:code=&gender=male&_filter=&_sort=&_summary=&_include=",
        "Patient?gender=male&_count=&_offset=&_total=&_elements=&_tag=&_query=",
    ] {
        let page = lenient(query).unwrap();
        assert_eq!(resources(&page, "match").len(), 1, "{query}");
        assert_eq!(
            link(&page, "self").unwrap(),
            "http://example.org/fhir/Patient?gender=male&_count=20",
            "{query}"
        );
    }
    let page = lenient("?_type=&_type=Patient&gender=male&_id=").unwrap();
    assert_eq!(
        link(&page, "self").unwrap(),
        "http://example.org/fhir?_type=Patient&gender=male&_count=20"
    );
    assert_eq!(resources(&page, "match").len(), 1);
    world.refused(&[
        ("Patient?nothing=1", "nothing"),
        ("Patient?family=", "family"),
        ("?_type=Patient&_id=", "_id"),
        ("Patient?_query=name", "_query"),
        ("?_type=Patient&_query=name", "_query"),
    ]);
    // An empty value in a list is an error: alone it would match everything.
    for query in [
        "Patient?_query=name",
        "?_query=name",
        "Patient?gender:exact=male",
        "Patient?family=,",
        "Patient?family=x,",
        "?_type=Patient&_id=,x",
    ] {
        assert!(lenient(query).unwrap_err().is_input(), "{query}");
    }
}
