//! `_include` and `_revinclude` with wildcards and iteration, and pages with more includes than one answer holds.

use std::collections::BTreeSet;

use serde_json::Value;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::search::{Engine, IncludeLimits};

use super::super::brute::texts;
use super::super::corpus::{BASE, corpus, ids, link, name, resources};

/// `Type/id` of the existing references at some paths.
fn targets(resources: &[Value], paths: &[&str], existing: &BTreeSet<String>) -> BTreeSet<String> {
    let all = resources
        .iter()
        .flat_map(|resource| paths.iter().flat_map(|path| texts(resource, path)));
    all.filter(|reference| existing.contains(*reference))
        .map(str::to_owned)
        .collect()
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_wildcard_follows_every_reference_parameter() {
    let corpus = corpus();
    let scope = corpus.application();
    let mut existing = BTreeSet::new();
    for resource_type in [
        "Patient",
        "Organization",
        "Practitioner",
        "Location",
        "Condition",
        "Encounter",
        "EpisodeOfCare",
    ] {
        existing.extend(ids(&corpus.everything(resource_type)));
    }
    let paths = [
        "subject.reference",
        "serviceProvider.reference",
        "participant.individual.reference",
        "location.location.reference",
        "diagnosis.condition.reference",
        "reasonReference.reference",
        "partOf.reference",
    ];
    for all in ["*", "Encounter:*"] {
        let page = corpus
            .page(&scope, &format!("Encounter?_count=400&_include={all}"))
            .unwrap();
        let mut expected = targets(&resources(&page, "match"), &paths, &existing);
        for matched in ids(&resources(&page, "match")) {
            expected.remove(&matched);
        }
        assert!(expected.len() > 10, "{expected:?}");
        assert_eq!(ids(&resources(&page, "include")), expected, "{all}");
    }
    let page = corpus
        .page(&scope, "Patient?family=Cole&_count=1&_revinclude=Condition:*")
        .unwrap();
    let patient = name(&resources(&page, "match")[0]);
    let conditions = corpus.everything("Condition");
    let of_patient = conditions
        .iter()
        .filter(|condition| condition["subject"]["reference"] == *patient);
    assert_eq!(ids(&resources(&page, "include")), of_patient.map(name).collect());
    for wrong in [
        "_include:exact=Encounter:subject",
        "_include=Encounter:nothing",
        "_include=Nothing:*",
    ] {
        assert!(corpus.page(&scope, &format!("Encounter?{wrong}")).is_err(), "{wrong}");
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn an_iterating_wildcard_follows_everything_from_everywhere() {
    let corpus = corpus();
    let scope = corpus.application();
    let included = |query: &str| {
        let page = corpus.page(&scope, query).unwrap();
        ids(&resources(&page, "include"))
    };
    let query = "Observation?code=29463-7&_count=3";
    let all = included(&format!("{query}&_include:iterate=*"));
    let types: BTreeSet<&str> = all.iter().filter_map(|name| name.split('/').next()).collect();
    let each: String = types
        .iter()
        .chain(&["Observation"])
        .map(|resource_type| format!("&_include:iterate={resource_type}:*"))
        .collect();
    assert_eq!(all, included(&format!("{query}{each}")), "{each}");
    let once = included(&format!("{query}&_include=*"));
    assert!(all.is_superset(&once) && all.len() > once.len(), "{all:?}");
    let back = included("Encounter?_count=3&_revinclude:iterate=*");
    assert!(back.is_superset(&included("Encounter?_count=3&_revinclude=*")) && !back.is_empty());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn iterating_includes_follow_what_was_brought_along() {
    let corpus = corpus();
    let scope = corpus.application();
    let encounters = corpus.everything("Encounter");
    let organizations = ids(&corpus.everything("Organization"));
    let query = "Observation?code=29463-7&_count=20&_include=Observation:encounter";
    let once = corpus.page(&scope, query).unwrap();
    let included = ids(&resources(&once, "include"));
    assert!(
        !included.is_empty() && included.iter().all(|name| name.starts_with("Encounter/")),
        "{included:?}"
    );
    let page = corpus
        .page(&scope, &format!("{query}&_include:iterate=Encounter:service-provider"))
        .unwrap();
    let followed: Vec<Value> = encounters
        .into_iter()
        .filter(|encounter| included.contains(&name(encounter)))
        .collect();
    let mut expected = targets(&followed, &["serviceProvider.reference"], &organizations);
    assert!(!expected.is_empty());
    expected.extend(included);
    assert_eq!(ids(&resources(&page, "include")), expected);
    // Reverse includes of includes: the claims of the encounters.
    let back = corpus
        .page(&scope, &format!("{query}&_revinclude:iterate=Procedure:encounter"))
        .unwrap();
    let encounters = ids(&resources(&once, "include"));
    let procedures = corpus.everything("Procedure");
    let referring = procedures.iter().filter(|procedure| {
        texts(procedure, "encounter.reference")
            .into_iter()
            .any(|reference| encounters.contains(reference))
    });
    let found: BTreeSet<String> = ids(&resources(&back, "include"))
        .into_iter()
        .filter(|name| name.starts_with("Procedure/"))
        .collect();
    assert_eq!(found, referring.map(name).collect());
}

/// However few includes an answer holds, following the links gives all matches and all their includes.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn what_one_answer_does_not_hold_comes_with_the_next() {
    let corpus = corpus();
    let scope = corpus.application();
    let limits = IncludeLimits {
        resources: 7,
        bytes: 1 << 20,
    };
    let engine = Engine::new(corpus.lake(), SearchParameters::builtin()).with_include_limits(limits);
    let query = "Patient?gender=male&_count=4&_revinclude=Condition:subject&_include=Patient:general-practitioner";
    let expected: BTreeSet<String> = {
        let men = ids(&corpus.all(&scope, "Patient?gender=male"));
        let conditions = corpus.everything("Condition");
        let of_men = conditions.iter().filter(|condition| {
            texts(condition, "subject.reference")
                .into_iter()
                .any(|reference| men.contains(reference))
        });
        of_men.map(name).collect()
    };
    assert!(expected.len() > 30, "{}", expected.len());
    let (mut matches, mut included, mut cut, mut short) = (Vec::new(), BTreeSet::new(), 0, 0);
    let (mut next, mut last) = (Some(query.to_owned()), String::new());
    while let Some(query) = next {
        let page = corpus.page_of(&engine, &scope, &query).unwrap();
        let here = resources(&page, "match");
        if !here.is_empty() {
            last.clone_from(&query);
        }
        matches.extend(here.iter().map(name));
        let brought = resources(&page, "include");
        assert!(brought.len() <= 7, "{}", brought.len());
        included.extend(brought.iter().map(name));
        let outcomes = resources(&page, "outcome");
        cut += outcomes.len();
        if let Some(outcome) = outcomes.first() {
            assert_eq!(outcome["issue"][0]["code"], "incomplete");
            let fewer = outcome["issue"][0]["details"]["text"]
                .as_str()
                .unwrap()
                .contains("fewer matches");
            short += usize::from(fewer);
            assert!(link(&page, "next").is_some_and(|url| url.contains("_included=") != fewer));
        }
        next = link(&page, "next").map(|url| url.strip_prefix(BASE).unwrap().to_owned());
    }
    assert!(cut > 3 && short > 0, "{cut}, {short}");
    let men = corpus.all(&scope, "Patient?gender=male");
    assert_eq!(matches, men.iter().map(name).collect::<Vec<_>>());
    included.retain(|name| name.starts_with("Condition/"));
    assert_eq!(included, expected);
    // The links back skip no match.
    let (mut back, mut previous) = (Vec::new(), Some(last));
    while let Some(query) = previous {
        let page = corpus.page_of(&engine, &scope, &query).unwrap();
        let here: Vec<String> = resources(&page, "match").iter().map(name).collect();
        assert!(here.len() <= 4);
        back = [here, back].concat();
        previous = link(&page, "previous").map(|url| url.strip_prefix(BASE).unwrap().to_owned());
    }
    assert_eq!(back, matches);
}
