//! Searches over several types at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tabularium::lake::Scope;
use tabularium::search::Handling;

use super::corpus::{Corpus, corpus, ids, link, name, resources};

/// The matches of all pages.
fn walk(corpus: &Corpus, scope: &Arc<Scope>, query: &str) -> Vec<Value> {
    let mut matches = Vec::new();
    let mut next = Some(query.to_owned());
    while let Some(query) = next {
        let page = corpus
            .system(scope, &query, Handling::Strict)
            .unwrap_or_else(|error| panic!("{query}: {error}"));
        matches.extend(resources(&page, "match"));
        next = link(&page, "next");
    }
    matches
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn types_follow_each_other_page_by_page() {
    let corpus = corpus();
    let scope = corpus.application();
    let mut expected: BTreeSet<String> = ids(&corpus.everything("Patient"));
    expected.extend(ids(&corpus.everything("Condition")));
    expected.extend(ids(&corpus.everything("Goal")));
    for count in [7, 40, 1000] {
        let found = walk(corpus, &scope, &format!("?_type=Patient,Condition,Goal&_count={count}"));
        assert_eq!(found.len(), expected.len(), "{count}");
        assert_eq!(ids(&found), expected, "{count}");
    }
    let counted = corpus
        .system(&scope, "?_type=Patient,Condition,Goal&_summary=count", Handling::Strict)
        .unwrap();
    assert_eq!(counted["total"], expected.len());
    let page = corpus
        .system(
            &scope,
            "?_type=Patient,Condition,Goal&_total=accurate&_count=3",
            Handling::Strict,
        )
        .unwrap();
    assert_eq!(page["total"], expected.len());
    assert!(link(&page, "self").unwrap().contains("_type=Patient"));
    // Without `_type`, the search covers all types.
    let everything = corpus.system(&scope, "?_summary=count", Handling::Strict).unwrap();
    assert!(everything["total"].as_u64().unwrap() > 5000, "{everything}");
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn sorted_types_are_merged() {
    let corpus = corpus();
    let scope = corpus.application();
    for (sort, descending) in [("_id", false), ("-_id", true)] {
        let found = walk(
            corpus,
            &scope,
            &format!("?_type=Patient,Goal,CarePlan&_sort={sort}&_count=9"),
        );
        let mut ids: Vec<&str> = found.iter().map(|resource| resource["id"].as_str().unwrap()).collect();
        let in_order = ids.clone();
        ids.sort_unstable();
        if descending {
            ids.reverse();
        }
        assert_eq!(in_order, ids, "{sort}");
        let all: usize = ["Patient", "Goal", "CarePlan"]
            .map(|resource_type| corpus.everything(resource_type).len())
            .iter()
            .sum();
        assert_eq!(found.len(), all);
        let types: BTreeSet<String> = found
            .iter()
            .map(|found| name(found).split('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(types.len(), 3);
    }
    let by_time = walk(corpus, &scope, "?_type=Patient,Goal&_sort=-_lastUpdated,_id&_count=11");
    assert_eq!(
        by_time.len(),
        corpus.everything("Patient").len() + corpus.everything("Goal").len()
    );
}

/// Every type of R4 counted as a target of a condition, even without rows. So two conditions on other resources were
/// refused as too many.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn conditions_on_other_resources_count_the_types_that_are_stored() {
    let corpus = corpus();
    let lists = "_list=nothing&_list=nobody&_list=none";
    assert!(walk(corpus, &corpus.application(), &format!("?{lists}")).is_empty());
    let counted = corpus
        .system(
            &corpus.application(),
            &format!("?_summary=count&{lists}"),
            Handling::Strict,
        )
        .unwrap();
    assert_eq!(counted["total"], 0);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn parameters_must_be_known_to_all_types() {
    let corpus = corpus();
    let scope = corpus.application();
    let id = corpus.everything("Patient")[0]["id"].as_str().unwrap().to_owned();
    let found = walk(corpus, &scope, &format!("?_type=Condition,Goal&patient={id}"));
    let own = |resource: &Value| resource["subject"]["reference"] == format!("Patient/{id}");
    assert!(found.iter().all(own));
    let expected = ["Condition", "Goal"]
        .map(|resource_type| corpus.everything(resource_type).iter().filter(|row| own(row)).count());
    assert_eq!(found.len(), expected.iter().sum::<usize>());
    let strict = corpus.system(&scope, "?_type=Patient,Condition&gender=male", Handling::Strict);
    assert!(strict.unwrap_err().to_string().contains("gender"));
    let lenient = corpus
        .system(
            &scope,
            "?_type=Patient,Condition&gender=male&_summary=count",
            Handling::Lenient,
        )
        .unwrap();
    assert!(!link(&lenient, "self").unwrap().contains("gender"));
    for wrong in [
        "?_type=Nothing",
        "?_type=Patient,Goal&_sort=status",
        "?_type=Patient&_type=Goal",
        "?_type=Patient&_id=",
    ] {
        assert!(corpus.system(&scope, wrong, Handling::Strict).is_err(), "{wrong}");
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_patient_sees_their_own_rows_of_every_type() {
    let corpus = corpus();
    let id = corpus.everything("Patient")[0]["id"].as_str().unwrap().to_owned();
    let token = corpus.patient(&id);
    let found = walk(corpus, &token, "?_type=Patient,Condition,Observation&_count=200");
    let subject = format!("Patient/{id}");
    assert!(!found.is_empty());
    for resource in &found {
        assert!(
            resource["subject"]["reference"] == *subject || resource["id"] == *id,
            "{}",
            name(resource)
        );
    }
}

/// Bundles have no narrative, so `_text` counted as unknown to one of the types. It was ignored, and everything
/// matched.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn words_are_looked_for_in_the_types_that_have_a_narrative() {
    let corpus = corpus();
    let scope = corpus.application();
    let found = |query: &str, handling| {
        corpus.system(&scope, query, handling).unwrap()["total"]
            .as_u64()
            .unwrap()
    };
    for handling in [Handling::Strict, Handling::Lenient] {
        assert_eq!(found("?_text=nobodywouldsaythis&_summary=count", handling), 0);
        let patients = found("?_type=Patient&_text=generated&_summary=count", handling);
        assert!(patients > 0);
        assert_eq!(
            found("?_type=Bundle,Patient&_text=generated&_summary=count", handling),
            patients
        );
        assert!(found("?_text=generated&_summary=count", handling) >= patients);
    }
    assert!(
        corpus
            .system(&scope, "?_type=Bundle&_text=x", Handling::Strict)
            .is_err()
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn elements_are_asked_of_the_types_that_have_them() {
    let corpus = corpus();
    let scope = corpus.application();
    let of_types = |elements: &str| {
        let query = format!("?_type=Patient,Observation&_count=1000&_elements={elements}");
        corpus.system(&scope, &query, Handling::Strict)
    };
    let of_type = |page: &Value, resource_type: &str| -> Vec<Value> {
        let matches = resources(page, "match").into_iter();
        matches
            .filter(|resource| resource["resourceType"] == resource_type)
            .collect()
    };
    let page = of_types("gender,effective").unwrap();
    let (patients, observations) = (of_type(&page, "Patient"), of_type(&page, "Observation"));
    assert!(patients.len() > 20 && observations.len() > 500);
    assert!(patients.iter().any(|patient| patient.get("gender").is_some()));
    assert!(observations.iter().any(|one| one.get("effectiveDateTime").is_some()));
    for resource in patients.iter().chain(&observations) {
        let tags = resource["meta"]["tag"].as_array().unwrap();
        assert!(tags.iter().any(|tag| tag["code"] == "SUBSETTED"));
        for left_out in ["name", "birthDate", "category", "valueQuantity", "text"] {
            assert!(resource.get(left_out).is_none(), "{left_out} of {}", name(resource));
        }
    }
    // Observations have no `gender`, so only their required elements stay.
    let observations = of_type(&of_types("gender").unwrap(), "Observation");
    assert!(
        observations
            .iter()
            .all(|one| one.get("code").is_some() && one.get("effectiveDateTime").is_none())
    );
    let refused = of_types("gender,nothing").unwrap_err().to_string();
    assert!(refused.contains("_elements: 'nothing'"), "{refused}");
}
