//! Properties for any set of records: the order does not matter, a second run changes nothing, and without a claim
//! nothing is generated.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use super::claims::encounters::{bill, service};
use super::world::{World, files};
use crate::harness::shared;

/// All results for a world, for comparison.
fn result(world: &World<'_>) -> (Vec<String>, BTreeMap<String, Vec<String>>) {
    let made = world.run();
    let generated = made
        .plan
        .generated
        .iter()
        .map(|generated| generated.json.clone())
        .collect();
    let additions = made.plan.additions.iter().map(|((resource_type, id), list)| {
        let list = list.iter().map(|addition| addition.json.clone()).collect();
        (format!("{resource_type:?}/{id}"), list)
    });
    (generated, additions.collect())
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_order_of_real_records_does_not_matter() {
    let shared = shared();
    let mut world = World::default();
    for folder in ["carin/ig-2.0.0", "carin/inferno"] {
        files(&shared.join("data").join(folder))
            .iter()
            .for_each(|file| world.file(file));
    }
    let forwards = result(&world);
    assert!(forwards.0.len() > 20, "{}", forwards.0.len());
    assert_eq!(result(&world), forwards);
    world.records.reverse();
    assert_eq!(result(&world), forwards);
}

/// Seeds used to contain the position of a source in the list. A second source before it would have changed the ids of
/// all generated resources.
#[test]
fn the_place_of_a_source_in_the_list_changes_no_id() {
    let records = [
        bill("1", "0111", "2024-01-01", "2024-01-05"),
        service("2", "2024-02-01", "11", "20610"),
    ];
    let ids = |source: u32| {
        let mut world = World::default();
        records.iter().for_each(|record| world.put(source, record.clone()));
        let mut seeds = Vec::new();
        for generated in world.seeds() {
            seeds.push(generated.split_once(' ').unwrap().1.to_owned());
        }
        seeds
    };
    let first = ids(0);
    assert!(first.iter().any(|seed| seed.starts_with("Provenance")), "{first:?}");
    assert_eq!(ids(1), first);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn every_generated_resource_has_what_r4_requires() {
    let shared = shared();
    let mut seen = 0;
    for file in files(&shared.join("data/carin")) {
        let mut world = World::default();
        world.file(&file);
        let required: [(&str, &[&str]); 5] = [
            (
                "MedicationRequest",
                &["status", "intent", "medicationCodeableConcept", "subject", "authoredOn"],
            ),
            ("Encounter", &["status", "class", "type", "subject", "period"]),
            (
                "Condition",
                &["category", "code", "subject", "encounter", "recordedDate"],
            ),
            ("Procedure", &["status", "code", "subject"]),
            ("Provenance", &["target", "recorded", "agent", "entity"]),
        ];
        let made = world.run();
        for (resource_type, elements) in required {
            for resource in made.whole(resource_type) {
                seen += 1;
                let profile = resource["meta"]["profile"][0].as_str().unwrap();
                let name = profile
                    .strip_prefix("http://hl7.org/fhir/us/core/StructureDefinition/us-core-")
                    .unwrap();
                assert!(name.starts_with(&resource_type.to_lowercase()), "{profile}");
                for element in elements {
                    assert!(!resource[*element].is_null(), "{element} of {resource:#}");
                }
            }
        }
    }
    assert!(seen > 40, "{seen}");
}

/// A claim with one of a few kinds, days and places.
fn claim() -> impl Strategy<Value = Value> {
    let bills = prop_oneof![
        Just("0111"),
        Just("0112"),
        Just("0121"),
        Just("0131"),
        Just("0329"),
        Just("0811")
    ];
    let code = prop_oneof![Just("99213"), Just("20610"), Just("80053"), Just("E0470")];
    let place = prop_oneof![Just("21"), Just("11"), Just("23")];
    let day = |day: u32| format!("2024-01-{day:02}");
    let institutional = (bills, 1..28_u32, 0..4_u32)
        .prop_map(move |(kind, from, length)| bill("x", kind, &day(from), &day((from + length).min(31))));
    let professional = (code, place, 1..31_u32).prop_map(move |(code, place, on)| service("x", &day(on), place, code));
    prop_oneof![institutional, professional]
}

fn named(claims: Vec<Value>) -> World<'static> {
    let mut world = World::default();
    for (at, mut claim) in claims.into_iter().enumerate() {
        claim["id"] = format!("c{at}").into();
        world.put(0, claim);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_claims_does_not_matter(claims in prop::collection::vec(claim(), 0..12), seed in any::<u64>()) {
        let mut world = named(claims);
        let before = result(&world);
        let count = world.records.len().max(1);
        world.records.rotate_left(seed as usize % count);
        if seed % 2 == 0 {
            world.records.reverse();
        }
        prop_assert_eq!(result(&world), before);
    }

    #[test]
    fn each_reference_leads_to_a_record_and_ids_are_unique(claims in prop::collection::vec(claim(), 0..12)) {
        let made = named(claims).run();
        let mut ids = std::collections::BTreeSet::new();
        for generated in &made.plan.generated {
            prop_assert!(ids.insert(generated.id.clone()), "{}", generated.id);
        }
        for resource_type in ["Condition", "Procedure"] {
            for resource in made.whole(resource_type) {
                if let Some(encounter) = resource["encounter"]["reference"].as_str() {
                    prop_assert!(ids.contains(encounter.strip_prefix("Encounter/").unwrap()));
                }
            }
        }
        for encounter in made.whole("Encounter") {
            for diagnosis in encounter["diagnosis"].as_array().into_iter().flatten() {
                let condition = diagnosis["condition"]["reference"].as_str().unwrap();
                prop_assert!(ids.contains(condition.strip_prefix("Condition/").unwrap()));
            }
        }
    }

    #[test]
    fn a_claim_that_goes_takes_with_it_what_it_alone_supports(claims in prop::collection::vec(claim(), 1..8)) {
        let mut world = named(claims);
        let gone = world.records.pop().unwrap().1;
        let claim = format!("ExplanationOfBenefit/{}", gone["id"].as_str().unwrap());
        let made = world.run();
        for generated in &made.plan.generated {
            prop_assert!(!generated.json.contains(&claim));
        }
        if world.records.is_empty() {
            prop_assert!(made.plan.generated.is_empty());
        }
    }
}
