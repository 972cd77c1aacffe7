//! Canonicals as references: searched as text and by type and id, and resolved by URL and version.

use serde_json::{Value, json};
use tabularium::search::Handling;

use super::super::corpus::{name, resources};
use super::super::small::{Small, small};
use crate::harness::records;

fn questionnaire(id: &str, url: Option<&str>, version: Option<&str>, title: &str) -> Value {
    let mut made = json!({"resourceType": "Questionnaire", "id": id, "status": "active", "title": title});
    for (element, value) in [("url", url), ("version", version)] {
        if let Some(value) = value {
            made[element] = json!(value);
        }
    }
    made
}

fn answers(id: &str, patient: &str, canonical: &str) -> Value {
    json!({"resourceType": "QuestionnaireResponse", "id": id, "status": "completed", "questionnaire": canonical,
        "subject": {"reference": format!("Patient/{patient}")}})
}

const URL: &str = "http://example.org/Questionnaire/sleep";

/// Resources with all the ways to name a questionnaire.
fn world() -> Small {
    let mut contained = answers("inside", "p", "#q");
    contained["contained"] =
        json!([{"resourceType": "Questionnaire", "id": "q", "status": "active", "title": "Contained"}]);
    small(&[
        json!({"resourceType": "Patient", "id": "p"}),
        questionnaire("q1", None, None, "First"),
        questionnaire("old", Some(URL), Some("1"), "Sleep"),
        questionnaire("new", Some(URL), Some("2"), "Sleep anew"),
        questionnaire("other", Some("http://example.org/Questionnaire/pain"), None, "Pain"),
        answers("relative", "p", "Questionnaire/q1"),
        answers("relative-version", "p", "Questionnaire/q1|7"),
        answers("bare", "p", "q1"),
        answers("any", "p", URL),
        answers("first", "p", &format!("{URL}|1")),
        answers("third", "p", &format!("{URL}|3")),
        answers("part", "p", &format!("{URL}#part")),
        answers("pain", "p", "http://example.org/Questionnaire/pain"),
        contained,
        json!({"resourceType": "RequestGroup", "id": "group", "status": "active", "intent": "plan",
            "instantiatesCanonical": [format!("{URL}|2")]}),
    ])
}

#[test]
fn relative_canonicals_are_found_by_their_text_and_by_type_and_id() {
    let world = world();
    world.check(&[
        (
            "QuestionnaireResponse?questionnaire=Questionnaire/q1",
            "relative relative-version",
        ),
        (
            "QuestionnaireResponse?questionnaire=http://example.org/fhir/Questionnaire/q1",
            "relative relative-version",
        ),
        (
            "QuestionnaireResponse?questionnaire=q1",
            "relative relative-version bare",
        ),
        (
            "QuestionnaireResponse?questionnaire:Questionnaire=q1",
            "relative relative-version",
        ),
        (
            r"QuestionnaireResponse?questionnaire=Questionnaire/q1\|7",
            "relative-version",
        ),
        ("QuestionnaireResponse?questionnaire=Questionnaire/q2", ""),
        (
            "QuestionnaireResponse?questionnaire=Questionnaire/q1,a,b,c,Questionnaire/d",
            "relative relative-version",
        ),
        (
            "QuestionnaireResponse?questionnaire=q1,a,b,c,d",
            "relative relative-version bare",
        ),
        (
            "QuestionnaireResponse?_filter=questionnaire eq Questionnaire/q1",
            "relative relative-version",
        ),
    ]);
}

#[test]
fn chains_and_has_follow_canonicals_by_url_and_version() {
    let world = world();
    world.check(&[
        ("QuestionnaireResponse?questionnaire.title=sleep", "any first"),
        ("QuestionnaireResponse?questionnaire.title=sleep anew", "any"),
        ("QuestionnaireResponse?questionnaire:Questionnaire.title=pain", "pain"),
        (
            "QuestionnaireResponse?questionnaire.title=first",
            "relative relative-version",
        ),
        ("QuestionnaireResponse?questionnaire.title=contained", "inside"),
        (
            "QuestionnaireResponse?_filter=questionnaire.title eq sleep",
            "any first",
        ),
        ("RequestGroup?instantiates-canonical.title=sleep anew", "group"),
        ("RequestGroup?instantiates-canonical:Questionnaire.version=1", ""),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=first",
            "old",
        ),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=any",
            "old new",
        ),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=third,part",
            "",
        ),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:_id=relative",
            "q1",
        ),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:status=completed",
            "q1 old new other",
        ),
        (
            "Questionnaire?_has:RequestGroup:instantiates-canonical:_id=group",
            "new",
        ),
    ]);
    // No canonical leads to a type without URLs.
    world.refused(&[
        ("Patient?_has:RequestGroup:instantiates-canonical:_id=group", "_has"),
        (
            "RequestGroup?instantiates-canonical:above=Location/x",
            "instantiates-canonical: the modifier ':above'",
        ),
    ]);
}

fn brought(world: &Small, query: &str) -> String {
    let page = world.page(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let mut names: Vec<String> = resources(&page, "include").iter().map(name).collect();
    names.sort();
    names.join(" ")
}

#[test]
fn includes_follow_canonicals_by_url_and_version() {
    let world = world();
    for (query, expected) in [
        (
            "QuestionnaireResponse?_id=first&_include=QuestionnaireResponse:questionnaire",
            "Questionnaire/old",
        ),
        (
            "QuestionnaireResponse?_id=any&_include=QuestionnaireResponse:questionnaire:Questionnaire",
            "Questionnaire/new Questionnaire/old",
        ),
        (
            "QuestionnaireResponse?_id=third,part,inside&_include=QuestionnaireResponse:questionnaire",
            "",
        ),
        (
            "QuestionnaireResponse?_id=relative&_include=*",
            "Patient/p Questionnaire/q1",
        ),
        ("RequestGroup?_include=*", "Questionnaire/new"),
        (
            "Questionnaire?_id=new&_revinclude=QuestionnaireResponse:questionnaire",
            "QuestionnaireResponse/any",
        ),
        (
            "Questionnaire?_id=new&_revinclude=*",
            "QuestionnaireResponse/any RequestGroup/group",
        ),
        (
            "Questionnaire?_id=q1,old&_revinclude=QuestionnaireResponse:questionnaire",
            "QuestionnaireResponse/any QuestionnaireResponse/first QuestionnaireResponse/relative \
             QuestionnaireResponse/relative-version",
        ),
        (
            "RequestGroup?_include=RequestGroup:instantiates-canonical&_revinclude:iterate=QuestionnaireResponse:questionnaire",
            "Questionnaire/new QuestionnaireResponse/any",
        ),
    ] {
        assert_eq!(brought(&world, query), expected, "{query}");
    }
    world.refused(&[
        ("Bundle?_include=Bundle:composition", "_include"),
        ("Patient?_revinclude=RequestGroup:instantiates-canonical", "_revinclude"),
    ]);
}

/// A URL does not determine an owner. Canonicals lead only to resources that the caller may see.
#[test]
fn canonicals_lead_to_nobody_elses_resources() {
    let answered = |patient: &str| answers(&format!("of-{patient}"), patient, URL);
    let contract = |patient: &str| {
        json!({"resourceType": "Contract", "id": format!("contract-{patient}"), "url": URL, "title": patient, "version": "1",
            "subject": [{"reference": format!("Patient/{patient}")}]})
    };
    let group = |patient: &str| {
        json!({"resourceType": "RequestGroup", "id": format!("group-{patient}"), "status": "active", "intent": "plan",
            "subject": {"reference": format!("Patient/{patient}")}, "instantiatesCanonical": [URL]})
    };
    let world = small(&[
        json!({"resourceType": "Patient", "id": "ann"}),
        json!({"resourceType": "Patient", "id": "ben"}),
        questionnaire("shared", Some(URL), None, "Nobody's"),
        answered("ann"),
        answered("ben"),
        contract("ann"),
        contract("ben"),
        group("ann"),
        group("ben"),
    ]);
    let ann = records::patient(&world.lake, "local", "ann");
    let page = |query: &str| world.page_of(&ann, query, Handling::Strict).unwrap();
    let names = |query: &str, mode: &str| {
        let mut names: Vec<String> = resources(&page(query), mode).iter().map(name).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        names("RequestGroup?_include=*", "include"),
        "Contract/contract-ann Patient/ann"
    );
    assert_eq!(
        names(
            "QuestionnaireResponse?_include=QuestionnaireResponse:questionnaire",
            "include"
        ),
        ""
    );
    assert_eq!(
        names("Contract?_revinclude=RequestGroup:instantiates-canonical", "include"),
        "RequestGroup/group-ann"
    );
    assert_eq!(
        names(
            "RequestGroup?instantiates-canonical.url=http://example.org/Questionnaire/sleep",
            "match"
        ),
        "RequestGroup/group-ann"
    );
    assert_eq!(
        names(
            "RequestGroup?instantiates-canonical:Contract.identifier:missing=true",
            "match"
        ),
        "RequestGroup/group-ann"
    );
    assert_eq!(
        names(
            "Contract?_has:RequestGroup:instantiates-canonical:status=active",
            "match"
        ),
        "Contract/contract-ann"
    );
    assert_eq!(names("QuestionnaireResponse?questionnaire.title=nobody", "match"), "");
    // An application sees all of them.
    world.check(&[
        ("QuestionnaireResponse?questionnaire.title=nobody", "of-ann of-ben"),
        (
            "Contract?_has:RequestGroup:instantiates-canonical:_id=group-ann",
            "contract-ann contract-ben",
        ),
    ]);
}
