//! Composites, chains, `_has`, `_filter`, text searches and rare modifiers, compared with plain readings of all
//! resources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::brute::{at, begins, coded, is, numbers, relates, spans, texts};
use super::super::corpus::{Corpus, corpus, ids, name};

const LOINC: &str = "http://loinc.org";
const UCUM: &str = "http://unitsofmeasure.org";

type Reading<'a> = Box<dyn Fn(&Value) -> bool + 'a>;

/// All resources of some types.
struct World<'c> {
    corpus: &'c Corpus,
}

impl World<'_> {
    /// `Type/id` of a type's resources that a reading keeps.
    fn names(&self, resource_type: &str, keep: impl Fn(&Value) -> bool) -> BTreeSet<String> {
        let all = self.corpus.everything(resource_type);
        all.iter().filter(|resource| keep(resource)).map(name).collect()
    }

    /// The references at a path of a type's resources that a reading keeps.
    fn referred(&self, resource_type: &str, path: &str, keep: impl Fn(&Value) -> bool) -> BTreeSet<String> {
        let all = self.corpus.everything(resource_type);
        let kept = all.iter().filter(|resource| keep(resource));
        kept.flat_map(|resource| texts(resource, path).into_iter().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }
}

/// Whether a reference at a path points to one of these.
fn refers(resource: &Value, path: &str, to: &BTreeSet<String>) -> bool {
    texts(resource, path)
        .into_iter()
        .any(|reference| to.contains(reference))
}

fn quantity(resource: &Value, path: &str, unit: &str, holds: impl Fn(f64) -> bool) -> bool {
    at(resource, path)
        .into_iter()
        .any(|quantity| quantity["code"] == unit && numbers(quantity, "value").into_iter().any(&holds))
}

/// Runs queries and compares them with their readings. At least this share of them must have matches.
fn compare(corpus: &Corpus, queries: Vec<(&str, Reading<'_>)>, with_matches: usize) {
    let (mut wrong, mut matched) = (Vec::new(), 0);
    for (query, reading) in &queries {
        let resource_type = query.split('?').next().unwrap();
        let expected: Vec<Value> = corpus.everything(resource_type).into_iter().filter(reading).collect();
        let expected = ids(&expected);
        matched += usize::from(!expected.is_empty());
        let found = corpus.all(&corpus.application(), &format!("{query}&_count=700"));
        if ids(&found) != expected || found.len() != expected.len() {
            let missing: Vec<_> = expected.difference(&ids(&found)).take(2).cloned().collect();
            let extra: Vec<_> = ids(&found).difference(&expected).take(2).cloned().collect();
            wrong.push(format!(
                "{query}: {} not {}, missing {missing:?}, extra {extra:?}",
                found.len(),
                expected.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(matched >= with_matches, "{matched} of {} have matches", queries.len());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn composites_hold_within_one_item() {
    let corpus = corpus();
    let queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Observation?code-value-quantity=http://loinc.org|29463-7$gt70|http://unitsofmeasure.org|kg",
            Box::new(|r| {
                coded(r, "code.coding", Some(LOINC), "29463-7")
                    && quantity(r, "valueQuantity", "kg", |value| value > 70.0)
                    && is(r, "valueQuantity.system", UCUM)
            }),
        ),
        (
            "Observation?code-value-quantity=29463-7$gt70,8302-2$lt150",
            Box::new(|r| {
                coded(r, "code.coding", None, "29463-7")
                    && numbers(r, "valueQuantity.value").into_iter().any(|value| value > 70.0)
                    || coded(r, "code.coding", None, "8302-2")
                        && numbers(r, "valueQuantity.value").into_iter().any(|value| value < 150.0)
            }),
        ),
        (
            // The diastolic part must be high, not the systolic one.
            "Observation?component-code-value-quantity=8462-4$gt85",
            Box::new(|r| {
                at(r, "component").into_iter().any(|component| {
                    coded(component, "code.coding", None, "8462-4")
                        && numbers(component, "valueQuantity.value")
                            .into_iter()
                            .any(|value| value > 85.0)
                })
            }),
        ),
        (
            "Observation?combo-code-value-quantity=http://loinc.org|8480-6$ge130,29463-7$le20",
            Box::new(|r| {
                let mut all = at(r, "component");
                all.push(r);
                all.into_iter().any(|part| {
                    let value =
                        |holds: &dyn Fn(f64) -> bool| numbers(part, "valueQuantity.value").into_iter().any(holds);
                    coded(part, "code.coding", Some(LOINC), "8480-6") && value(&|value| value >= 130.0)
                        || coded(part, "code.coding", None, "29463-7") && value(&|value| value <= 20.0)
                })
            }),
        ),
        (
            "Observation?code-value-concept=72166-2$266919005",
            Box::new(|r| {
                coded(r, "code.coding", None, "72166-2") && coded(r, "valueCodeableConcept.coding", None, "266919005")
            }),
        ),
        ("Observation?code-value-date=72166-2$2020", Box::new(|_| false)),
        (
            "Observation?code-value-quantity:missing=false",
            Box::new(|r| !at(r, "code.coding").is_empty() && !at(r, "valueQuantity").is_empty()),
        ),
    ];
    compare(corpus, queries, 6);
    let scope = corpus.application();
    for wrong in [
        "Observation?code-value-quantity=29463-7",
        "Observation?code-value-quantity=29463-7$1$2",
        "Observation?code-value-quantity=29463-7$abc",
        "Observation?code-value-quantity:exact=29463-7$1",
        "Observation?_sort=code-value-quantity",
    ] {
        let error = corpus.page(&scope, wrong).unwrap_err().to_string();
        assert!(error.contains("code-value-quantity"), "{wrong}: {error}");
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn chains_are_followed() {
    let corpus = corpus();
    let world = World { corpus };
    let women = world.names("Patient", |r| is(r, "gender", "female"));
    let named = world.names("Patient", |r| begins(r, "name.family", "mc"));
    let exact = world.names("Patient", |r| is(r, "name.family", "Cole"));
    let old = world.names("Patient", |r| {
        spans(r, "birthDate", "none")
            .into_iter()
            .any(|target| relates("lt", target, "1970"))
    });
    let encounters = world.names("Encounter", |r| {
        is(r, "class.code", "AMB") && refers(r, "subject.reference", &women)
    });
    let of_women = world.names("Encounter", |r| refers(r, "subject.reference", &women));
    let queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Observation?subject:Patient.gender=female&code=29463-7",
            Box::new(|r| coded(r, "code.coding", None, "29463-7") && refers(r, "subject.reference", &women)),
        ),
        (
            "Condition?patient.gender=female",
            Box::new(|r| refers(r, "subject.reference", &women)),
        ),
        (
            "Condition?subject.name=mc",
            Box::new(|r| refers(r, "subject.reference", &named)),
        ),
        (
            "Condition?subject:Patient.family:exact=Cole",
            Box::new(|r| refers(r, "subject.reference", &exact)),
        ),
        (
            "Procedure?patient.birthdate=lt1970&patient.gender=female",
            Box::new(|r| refers(r, "subject.reference", &women) && refers(r, "subject.reference", &old)),
        ),
        (
            "Observation?encounter.class=AMB&encounter.subject:Patient.gender=female&category=laboratory",
            Box::new(|r| {
                coded(r, "category.coding", None, "laboratory") && refers(r, "encounter.reference", &encounters)
            }),
        ),
        (
            "Observation?encounter:Encounter.patient.gender=female&code=8302-2",
            Box::new(|r| coded(r, "code.coding", None, "8302-2") && refers(r, "encounter.reference", &of_women)),
        ),
        ("Condition?subject:Group.identifier=x", Box::new(|_| false)),
    ];
    compare(corpus, queries, 6);
    let scope = corpus.application();
    for (wrong, part) in [
        ("Observation?code.display=x", "only a reference"),
        ("Observation?subject:Nobody.name=x", ":Nobody"),
        ("Observation?subject:Patient.nothing=x", "subject:Patient.nothing"),
        ("Observation?subject:Patient.birthdate=x", "birthdate"),
        ("Observation?nothing.name=x", "nothing.name"),
    ] {
        let error = corpus.page(&scope, wrong).unwrap_err().to_string();
        assert!(error.contains(part), "{wrong}: {error}");
    }
    let endless = format!("Observation?{}name=x", "subject.".repeat(400));
    assert!(corpus.page(&scope, &endless).is_err());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn reverse_chains_are_followed() {
    let corpus = corpus();
    let world = World { corpus };
    let heavy = world.referred("Observation", "subject.reference", |r| {
        coded(r, "code.coding", None, "29463-7")
            && numbers(r, "valueQuantity.value").into_iter().any(|value| value > 90.0)
    });
    let weighed = world.referred("Observation", "subject.reference", |r| {
        coded(r, "code.coding", None, "29463-7")
    });
    let smoking = world.referred("Observation", "encounter.reference", |r| {
        coded(r, "code.coding", None, "72166-2")
    });
    let of_smokers = world.referred("Encounter", "subject.reference", |r| smoking.contains(&name(r)));
    let women = world.names("Patient", |r| is(r, "gender", "female"));
    let seen_women = world.referred("Encounter", "participant.individual.reference", |r| {
        refers(r, "subject.reference", &women)
    });
    let queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Patient?_has:Observation:patient:code-value-quantity=29463-7$gt90",
            Box::new(|r| heavy.contains(&name(r))),
        ),
        (
            "Patient?_has:Observation:patient:code=29463-7&gender=female",
            Box::new(|r| weighed.contains(&name(r)) && is(r, "gender", "female")),
        ),
        (
            "Patient?_has:Encounter:patient:_has:Observation:encounter:code=72166-2",
            Box::new(|r| of_smokers.contains(&name(r))),
        ),
        (
            "Practitioner?_has:Encounter:practitioner:patient.gender=female",
            Box::new(|r| seen_women.contains(&name(r))),
        ),
        (
            "Condition?patient._has:Observation:patient:code=29463-7",
            Box::new(|r| refers(r, "subject.reference", &weighed)),
        ),
        ("Patient?_has:Observation:patient:code=nothing", Box::new(|_| false)),
    ];
    compare(corpus, queries, 4);
    let scope = corpus.application();
    for wrong in [
        "Patient?_has=x",
        "Patient?_has:Observation:patient=x",
        "Patient?_has:Nothing:patient:code=x",
        "Patient?_has:Observation:code:code=x",
        "Practitioner?_has:Observation:patient:code=x",
        "Patient?_has:Observation:patient:nothing=x",
    ] {
        assert!(corpus.page(&scope, wrong).is_err(), "{wrong}");
    }
    // The name is wrong, so the message does not blame the value.
    let error = corpus
        .page(&scope, "Patient?_has:Nothing:patient:code=1234-5")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("_has: 'Nothing:patient:code' is not of the form Type:reference:parameter"),
        "{error}"
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn filters_combine_tests() {
    let corpus = corpus();
    let world = World { corpus };
    let named = world.names("Patient", |r| begins(r, "name.family", "mc"));
    let queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Patient?_filter=gender eq female and birthdate lt 1970",
            Box::new(|r| {
                is(r, "gender", "female")
                    && spans(r, "birthDate", "none")
                        .into_iter()
                        .any(|target| relates("lt", target, "1970"))
            }),
        ),
        (
            // `and` and `or` have the same precedence and group from left to right.
            "Patient?_filter=gender eq female or birthdate lt 1970 and not (family sw \"mc\")",
            Box::new(|r| {
                let old = spans(r, "birthDate", "none")
                    .into_iter()
                    .any(|target| relates("lt", target, "1970"));
                (is(r, "gender", "female") || old) && !begins(r, "name.family", "mc")
            }),
        ),
        (
            "Patient?_filter=(gender eq female or birthdate lt 1970) and family co \"Ar\"",
            Box::new(|r| {
                let old = spans(r, "birthDate", "none")
                    .into_iter()
                    .any(|target| relates("lt", target, "1970"));
                let contains = texts(r, "name.family")
                    .iter()
                    .any(|text| text.to_lowercase().contains("ar"));
                (is(r, "gender", "female") || old) && contains
            }),
        ),
        (
            "Patient?_filter=family ew \"586\"",
            Box::new(|r| texts(r, "name.family").iter().any(|text| text.ends_with("586"))),
        ),
        (
            "Patient?_filter=family eq \"cole\"",
            Box::new(|r| texts(r, "name.family").iter().any(|text| text.to_lowercase() == "cole")),
        ),
        (
            "Patient?_filter=gender ne female",
            Box::new(|r| texts(r, "gender").into_iter().any(|text| text != "female")),
        ),
        (
            "Observation?_filter=code eq http://loinc.org|29463-7 and value-quantity gt 70",
            Box::new(|r| {
                coded(r, "code.coding", Some(LOINC), "29463-7")
                    && numbers(r, "valueQuantity.value").into_iter().any(|value| value > 70.0)
            }),
        ),
        (
            "Encounter?_filter=date po 2015 and subject pr true",
            Box::new(|r| {
                let overlaps = |target: (f64, f64)| {
                    relates("eq", target, "2015") || !(relates("sa", target, "2015") || relates("eb", target, "2015"))
                };
                spans(r, "none", "period").into_iter().any(overlaps) && !texts(r, "subject.reference").is_empty()
            }),
        ),
        (
            "Condition?_filter=patient.family sw \"mc\"",
            Box::new(|r| refers(r, "subject.reference", &named)),
        ),
    ];
    let encoded: Vec<(String, Reading<'_>)> = queries
        .into_iter()
        .map(|(query, reading)| {
            let (head, filter) = query.split_once("_filter=").unwrap();
            let filter: String = form_urlencoded::byte_serialize(filter.as_bytes()).collect();
            (format!("{head}_filter={filter}"), reading)
        })
        .collect();
    let queries = encoded.iter().map(|(query, reading)| {
        let reading: Reading<'_> = Box::new(move |resource: &Value| reading(resource));
        (query.as_str(), reading)
    });
    compare(corpus, queries.collect(), 9);
    let scope = corpus.application();
    for wrong in [
        "Patient?_filter=",
        "Patient?_filter=gender",
        "Patient?_filter=gender+eq",
        "Patient?_filter=gender+is+female",
        "Patient?_filter=(gender+eq+female",
        "Patient?_filter=nothing+eq+1",
        "Patient?_filter=birthdate+co+soon",
        "Patient?_filter=birthdate+sw+1",
        "Patient?_filter=general-practitioner[name+eq+x]+pr+true",
        "Patient?_filter=gender[name+eq+x].name+eq+y",
        "Patient?_filter=birthdate+gt+soon",
        "Patient?_filter=gender+pr+maybe",
    ] {
        assert!(corpus.page(&scope, wrong).is_err(), "{wrong}");
    }
    let deep = format!(
        "Patient?_filter={}gender+eq+female{}",
        "(".repeat(100_000),
        ")".repeat(100_000)
    );
    assert!(corpus.page(&scope, &deep).is_err());
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn words_labels_and_rarer_modifiers() {
    let corpus = corpus();
    let words = |resource: &Value, pointer: &str, word: &str| {
        let html = resource.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let mut inside = false;
        let text: String = html
            .chars()
            .map(|c| {
                inside = (inside || c == '<') && c != '>';
                if inside || c == '>' { ' ' } else { c }
            })
            .collect();
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .any(|found| found.starts_with(word))
    };
    let label = |resource: &Value, path: &str, text: &str| {
        begins(resource, &format!("{path}.text"), text) || begins(resource, &format!("{path}.coding.display"), text)
    };
    let mut queries: Vec<(&str, Reading<'_>)> = vec![
        (
            "Patient?_text=generated",
            Box::new(|r| words(r, "/text/div", "generated")),
        ),
        (
            "Observation?code:text=Body",
            Box::new(move |r| label(r, "code", "body")),
        ),
        (
            "Condition?code:text=viral",
            Box::new(move |r| label(r, "code", "viral")),
        ),
        (
            "Patient?identifier:of-type=http://terminology.hl7.org/CodeSystem/v2-0203|SS|999-68-6630",
            Box::new(|r| {
                at(r, "identifier").into_iter().any(|identifier| {
                    coded(identifier, "type.coding", None, "SS") && identifier["value"] == "999-68-6630"
                })
            }),
        ),
        (
            "Observation?_profile:below=http://hl7.org/fhir/us/core",
            Box::new(|r| {
                texts(r, "meta.profile")
                    .into_iter()
                    .any(|text| text.starts_with("http://hl7.org/fhir/us/core/"))
            }),
        ),
    ];
    let near = |latitude: f64, longitude: f64| {
        move |r: &Value| {
            let (Some(lat), Some(lon)) = (
                numbers(r, "position.latitude").first().copied(),
                numbers(r, "position.longitude").first().copied(),
            ) else {
                return false;
            };
            // The spherical law of cosines, a different formula from the engine's.
            let (a, b) = (latitude.to_radians(), lat.to_radians());
            let angle = (a.sin() * b.sin() + a.cos() * b.cos() * (lon - longitude).to_radians().cos()).acos();
            angle * 6371.0088 <= 30.0
        }
    };
    queries.push(("Location?near=42.36|-71.06|30|km", Box::new(near(42.36, -71.06))));
    compare(corpus, queries, 4);
    let scope = corpus.application();
    for wrong in [
        "Patient?_text=",
        "Patient?_text:exact=x",
        "Patient?identifier:of-type=a|b",
        "Location?near=Boston",
        "Patient?gender:of-type=a|b|",
        "Observation?code:text=",
    ] {
        assert!(corpus.page(&scope, wrong).is_err(), "{wrong}");
    }
}
