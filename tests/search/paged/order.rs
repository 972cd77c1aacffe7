//! `_sort` orders matches by value; rows without a value come last, and equal ones are ordered by id.

use serde_json::Value;

use super::super::brute::{numbers, spans, texts};
use super::super::corpus::{corpus, name};

/// Checks that the resources of a sorted search are in the order of `key`, in either direction, with equal ones by id.
fn check<K: PartialOrd + std::fmt::Debug>(query: &str, descending: bool, key: impl Fn(&Value) -> Option<K>) {
    let corpus = corpus();
    let sorted = corpus.all(&corpus.application(), query);
    assert!(sorted.len() > 10, "{query}: {}", sorted.len());
    for pair in sorted.windows(2) {
        let (first, second) = (key(&pair[0]), key(&pair[1]));
        let in_order = match (&first, &second) {
            (Some(a), Some(b)) if a == b => pair[0]["id"].as_str() < pair[1]["id"].as_str(),
            (Some(a), Some(b)) => (a > b) == descending,
            (None, Some(_)) => false,
            (None, None) => pair[0]["id"].as_str() < pair[1]["id"].as_str(),
            (Some(_), None) => true,
        };
        assert!(
            in_order,
            "{query}: {} ({first:?}) before {} ({second:?})",
            name(&pair[0]),
            name(&pair[1])
        );
    }
}

fn earliest(resource: &Value) -> Option<f64> {
    let found = spans(resource, "effectiveDateTime", "effectivePeriod");
    found.into_iter().map(|span| span.0).min_by(f64::total_cmp)
}

fn latest(resource: &Value) -> Option<f64> {
    let found = spans(resource, "effectiveDateTime", "effectivePeriod");
    found.into_iter().map(|span| span.1).max_by(f64::total_cmp)
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn by_date_over_the_population() {
    check("Observation?_sort=date&_count=1000", false, earliest);
    check("Observation?_sort=-date&_count=1000", true, latest);
    check("Observation?code=29463-7&_sort=-date&_count=7", true, latest);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn by_date_for_one_person() {
    let patient = "3e26303e-a72a-4c60-866f-e5b81a9f1989";
    check(
        &format!("Observation?patient={patient}&_sort=-date&_count=100"),
        true,
        latest,
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn by_quantity() {
    let value = |resource: &Value| numbers(resource, "valueQuantity.value").first().copied();
    check("Observation?code=8302-2&_sort=value-quantity&_count=50", false, value);
    check("Observation?_sort=-value-quantity&_count=1000", true, value);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn by_token_and_id() {
    let status = |resource: &Value| texts(resource, "status").first().map(|text| (*text).to_owned());
    check("Encounter?_sort=status&_count=200", false, status);
    check("Patient?_sort=_id", false, |patient| {
        patient["id"].as_str().map(str::to_owned)
    });
}
