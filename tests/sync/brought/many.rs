//! Many people at the same time.

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use serde_json::Value;
use tabularium::consent::JobState;

use super::super::interrupted::service::check_records;
use super::super::journey::{Journey, total};
use super::super::world::{World, text};

const PEOPLE: u64 = 50;
const ORGANIZATIONS: [&str; 4] = ["lakeshore", "cedarway", "hilltop", "riverbend"];

/// The source that a person connects.
pub(in crate::sync) fn organization(person: u64) -> &'static str {
    ORGANIZATIONS[person as usize % ORGANIZATIONS.len()]
}

#[test]
fn fifty_people_at_once_go_through_the_pages_and_get_their_records() {
    let world = World::working(PEOPLE);
    let begun = Instant::now();
    let (all, steps) = (Barrier::new(PEOPLE as usize), AtomicUsize::new(0));
    let people: Vec<Value> = std::thread::scope(|scope| {
        let connect = |person: u64| {
            let (world, all, steps) = (&world, &all, &steps);
            scope.spawn(move || {
                all.wait();
                let mut journey = Journey::begin(world, &world.base_url(), organization(person), person);
                let granted = journey.tokens(steps);
                assert_eq!(journey.begun, 1, "person {person} had to begin again");
                granted
            })
        };
        let going: Vec<_> = (0..PEOPLE).map(connect).collect();
        going.into_iter().map(|person| person.join().unwrap()).collect()
    });
    println!("{PEOPLE} people connected in {:?}", begun.elapsed());
    for granted in &people {
        let connected = world.connected(granted);
        let end = world.end_of(&connected);
        assert_eq!(end, JobState::Completed, "{:?}", world.audit(&connected));
    }
    println!("and had their records after {:?}", begun.elapsed());
    for (person, granted) in people.iter().enumerate() {
        assert_eq!(total(&world.base_url(), "Patient", granted), 1, "person {person}");
        // Health plans have claims, and the medical center has visits.
        let more =
            ["ExplanationOfBenefit", "Encounter"].map(|resource_type| total(&world.base_url(), resource_type, granted));
        assert!(more.iter().sum::<u64>() > 0, "person {person}");
    }
    let patients: HashSet<&str> = people.iter().map(|granted| text(granted, "patient")).collect();
    assert_eq!(patients.len(), people.len());
    check_records(&world, &[]);
}
