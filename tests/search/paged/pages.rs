//! Pages: sizes, links, totals, includes, parts of resources, and refusals.

use serde_json::Value;

use super::super::corpus::{BASE, corpus, ids, link, resources};

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_match_is_on_exactly_one_page() {
    let corpus = corpus();
    for query in ["Encounter?_count=37", "Encounter?_count=37&_sort=-date"] {
        let walked = corpus.all(&corpus.application(), query);
        assert_eq!(walked.len(), ids(&walked).len(), "{query}");
        assert_eq!(ids(&walked), ids(&corpus.everything("Encounter")));
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn links_lead_both_ways_and_pin_the_snapshot() {
    let corpus = corpus();
    let scope = corpus.application();
    let first = corpus
        .page(&scope, "Encounter?_count=10&_sort=date&_total=accurate")
        .unwrap();
    assert!(link(&first, "previous").is_none());
    assert_eq!(first["total"], corpus.everything("Encounter").len());
    let next = link(&first, "next").unwrap();
    assert!(next.contains("_tag="), "{next}");
    let second = corpus.page(&scope, next.strip_prefix(BASE).unwrap()).unwrap();
    let back = link(&second, "previous").unwrap();
    let again = corpus.page(&scope, back.strip_prefix(BASE).unwrap()).unwrap();
    assert_eq!(resources(&again, "match"), resources(&first, "match"));
    assert!(link(&second, "self").unwrap().contains("_offset=10"));
    for damaged in ["Encounter?_tag=~~3e7.00", "Encounter?_tag=~~x"] {
        let error = corpus.page(&scope, damaged).unwrap_err();
        assert!(
            error.is_input() && error.to_string().contains("_tag"),
            "{damaged}: {error}"
        );
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn counts_and_totals() {
    let corpus = corpus();
    let scope = corpus.application();
    let page = corpus.page(&scope, "Patient?_count=0").unwrap();
    assert!(page.get("entry").is_none());
    assert_eq!(page["total"], corpus.everything("Patient").len());
    let page = corpus.page(&scope, "Patient?gender=male&_count=3").unwrap();
    assert!(page.get("total").is_none());
    assert_eq!(page["entry"].as_array().unwrap().len(), 3);
    let page = corpus.page(&scope, "Observation").unwrap();
    assert_eq!(page["entry"].as_array().unwrap().len(), 20);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn includes_bring_each_target_once() {
    let corpus = corpus();
    let scope = corpus.application();
    let page = corpus
        .page(
            &scope,
            "Encounter?_count=50&_include=Encounter:subject&_include=Encounter:service-provider",
        )
        .unwrap();
    let matches = resources(&page, "match");
    let included = resources(&page, "include");
    let mut wanted: Vec<&str> = matches
        .iter()
        .flat_map(|encounter| {
            [
                &encounter["subject"]["reference"],
                &encounter["serviceProvider"]["reference"],
            ]
        })
        .filter_map(Value::as_str)
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    assert_eq!(ids(&included).into_iter().collect::<Vec<_>>(), wanted);
    assert_eq!(included.len(), wanted.len());
    let only = corpus
        .page(&scope, "Encounter?_count=5&_include=Encounter:subject:Group")
        .unwrap();
    assert!(resources(&only, "include").is_empty());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn reverse_includes_bring_all_that_refer() {
    let corpus = corpus();
    let scope = corpus.application();
    let page = corpus
        .page(
            &scope,
            "Patient?family=Cole&_revinclude=Condition:subject&_revinclude=Goal:patient",
        )
        .unwrap();
    let patient = resources(&page, "match").remove(0);
    let reference = format!("Patient/{}", patient["id"].as_str().unwrap());
    let refers = |resource: &Value| resource["subject"]["reference"] == *reference;
    let mut expected: Vec<Value> = corpus.everything("Condition").into_iter().filter(refers).collect();
    expected.extend(corpus.everything("Goal").into_iter().filter(refers));
    assert!(!expected.is_empty());
    assert_eq!(ids(&resources(&page, "include")), ids(&expected));
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn parts_of_resources() {
    let corpus = corpus();
    let scope = corpus.application();
    let page = corpus
        .page(&scope, "Observation?_count=5&_elements=valueQuantity")
        .unwrap_err();
    assert!(page.to_string().contains("_elements"), "{page}");
    let page = corpus
        .page(
            &scope,
            "Observation?value-quantity:missing=false&_count=5&_elements=value",
        )
        .unwrap();
    for resource in resources(&page, "match") {
        assert!(resource.get("valueQuantity").is_some() && resource.get("status").is_some());
        assert!(resource.get("effectiveDateTime").is_none());
        assert_eq!(
            resource["meta"]["tag"].as_array().unwrap().last().unwrap()["code"],
            "SUBSETTED"
        );
    }
    let page = corpus.page(&scope, "Patient?_summary=true&_count=5").unwrap();
    for resource in resources(&page, "match") {
        assert!(resource.get("text").is_none() && resource.get("name").is_some());
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn what_is_refused_names_the_parameter() {
    let corpus = corpus();
    let scope = corpus.application();
    for (query, named) in [
        ("Observation?date=yesterday", "date"),
        ("Observation?value-quantity=much", "value-quantity"),
        ("Observation?code:below=1", "code"),
        ("Observation?nonsense=1", "nonsense"),
        ("Observation?_count=-1", "_count"),
        ("Observation?_sort=nonsense", "_sort"),
        ("Observation?_include=Observation:code", "_include"),
        ("Observation?subject:Nothing=1", "subject"),
        ("Observation?code=", "code"),
        ("Observation?_summary=some", "_summary"),
        ("Patient?gender:missing=maybe", "gender:missing"),
    ] {
        let error = corpus.page(&scope, query).unwrap_err();
        assert!(
            error.is_input() && error.to_string().contains(named),
            "{query}: {error}"
        );
    }
}

/// A POST with a long body used to get links too long for a GET.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn links_that_would_be_too_long_are_refused() {
    let corpus = corpus();
    let scope = corpus.application();
    let everything = corpus.everything("Encounter");
    let ids: Vec<&str> = everything
        .iter()
        .map(|encounter| encounter["id"].as_str().unwrap())
        .take(300)
        .collect();
    let nobody: Vec<String> = (0..2_000)
        .map(|at| format!("{at:08}-of-nobody-at-all-in-these-records"))
        .collect();
    let query = format!("Encounter?_id={},{}", ids.join(","), nobody.join(","));
    let error = corpus.page(&scope, &format!("{query}&_count=10")).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("_count"), "{error}");
    let page = corpus.page(&scope, &format!("{query}&_count=1000")).unwrap();
    assert_eq!(resources(&page, "match").len(), 300);
}
