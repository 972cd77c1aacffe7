//! `:in`, `:not-in`, `:below` and `:above` with the engine's code systems and value sets.

use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::search::Engine;
use tabularium::terminology::Terminology;

use super::super::brute::{at, coded};
use super::super::corpus::{Corpus, corpus, ids, resources};

const LOINC: &str = "http://loinc.org";

fn engine(corpus: &Corpus) -> Engine {
    let bundle = json!({"resourceType": "Bundle", "type": "collection", "entry": [
        {"resource": {"resourceType": "ValueSet", "url": "http://example.org/sizes", "status": "active", "compose": {"include": [
            {"system": LOINC, "concept": [{"code": "29463-7"}, {"code": "8302-2"}]}]}}},
        {"resource": {"resourceType": "ValueSet", "url": "http://example.org/women", "status": "active", "compose": {"include": [
            {"system": "http://hl7.org/fhir/administrative-gender", "concept": [{"code": "female"}]}]}}},
        {"resource": {"resourceType": "ValueSet", "url": "http://example.org/findings", "status": "active", "compose": {"include": [
            {"system": LOINC, "concept": [{"code": "29463-7"}]},
            {"system": "http://snomed.info/sct", "filter": [{"property": "concept", "op": "is-a", "value": "404684003"}]}]}}},
        {"resource": {"resourceType": "ValueSet", "url": "http://example.org/more", "status": "active", "compose": {"include": [
            {"valueSet": ["http://example.org/sizes", "http://example.org/lost"]}]}}},
        {"resource": {"resourceType": "ValueSet", "url": "http://example.org/listed", "status": "active",
            "compose": {"include": [{"system": "http://snomed.info/sct"}]},
            "expansion": {"timestamp": "2024-01-01", "total": 1, "contains": [{"system": "http://snomed.info/sct", "code": "1"}]}}},
        {"resource": {"resourceType": "CodeSystem", "url": LOINC, "status": "active", "content": "complete", "hierarchyMeaning": "is-a",
            "caseSensitive": true, "concept": [{"code": "vitals", "concept": [
                {"code": "pressures", "concept": [{"code": "85354-9"}, {"code": "55284-4"}]}, {"code": "29463-7"}, {"code": "8302-2"}]}]}}
    ]});
    let terminology = Terminology::parse(&bundle.to_string()).unwrap();
    Engine::new(corpus.lake(), SearchParameters::builtin()).with_terminology(Arc::new(terminology))
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn value_sets_and_hierarchies() {
    let corpus = corpus();
    let engine = engine(corpus);
    let scope = corpus.application();
    let any = |resource: &Value, codes: &[&str]| {
        codes
            .iter()
            .any(|code| coded(resource, "code.coding", Some(LOINC), code))
    };
    type Reading<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Observation?code:in=http://example.org/sizes",
            Box::new(|r| any(r, &["29463-7", "8302-2"])),
        ),
        (
            "Observation?code:not-in=http://example.org/sizes",
            Box::new(|r| !any(r, &["29463-7", "8302-2"])),
        ),
        (
            "Observation?code:below=http://loinc.org|pressures",
            Box::new(|r| any(r, &["85354-9", "55284-4"])),
        ),
        (
            "Observation?code:below=http://loinc.org|vitals",
            Box::new(|r| any(r, &["85354-9", "55284-4", "29463-7", "8302-2"])),
        ),
        (
            "Observation?code:below=pressures",
            Box::new(|r| any(r, &["85354-9", "55284-4"])),
        ),
        (
            "Observation?_filter=code+ss+loinc|pressures",
            Box::new(|r| any(r, &["85354-9", "55284-4"])),
        ),
        (
            "Observation?_filter=code+sb+loinc|8302-2",
            Box::new(|r| any(r, &["8302-2"])),
        ),
        (
            "Observation?_filter=code+ni+http://example.org/sizes",
            Box::new(|r| !any(r, &["29463-7", "8302-2"])),
        ),
        (
            "Observation?code:above=http://loinc.org|29463-7",
            Box::new(|r| any(r, &["29463-7"])),
        ),
        (
            "Patient?gender:in=http://example.org/women",
            Box::new(|r| r["gender"] == "female"),
        ),
        ("Observation?code:not-in=http://example.org/listed", Box::new(|_| true)),
        (
            "Observation?_filter=code+in+http://example.org/sizes",
            Box::new(|r| any(r, &["29463-7", "8302-2"])),
        ),
    ];
    for (query, reading) in queries {
        let resource_type = query.split('?').next().unwrap();
        let expected: Vec<Value> = corpus.everything(resource_type).into_iter().filter(&reading).collect();
        assert!(!expected.is_empty(), "{query}");
        let counted = corpus
            .page_of(&engine, &scope, &format!("{query}&_summary=count"))
            .unwrap();
        assert_eq!(counted["total"], expected.len(), "{query}");
        let page = corpus
            .page_of(&engine, &scope, &format!("{query}&_count=1000"))
            .unwrap();
        let found = resources(&page, "match");
        assert!(found.iter().all(&reading), "{query}");
        if expected.len() <= 1000 {
            assert_eq!(ids(&found), ids(&expected), "{query}");
        }
    }
    assert!(
        corpus
            .everything("Observation")
            .iter()
            .any(|row| !at(row, "code.coding").is_empty())
    );
    for (wrong, part) in [
        ("Observation?code:in=http://example.org/none", "http://example.org/none"),
        (
            "Observation?code:below=http://example.org/none|x",
            "http://example.org/none",
        ),
        ("Observation?code:below=nothing", "nothing"),
        (
            "Observation?code:in=http://example.org/findings",
            "code system 'http://snomed.info/sct'",
        ),
        (
            "Observation?code:not-in=http://example.org/findings",
            "code system 'http://snomed.info/sct'",
        ),
        (
            "Observation?_filter=code in http://example.org/more",
            "value set 'http://example.org/lost'",
        ),
        ("Observation?code:below=|29463-7", "system|code"),
    ] {
        let error = corpus.page_of(&engine, &scope, wrong).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(part), "{wrong}: {error}");
    }
}
