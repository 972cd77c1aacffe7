//! Syncs, merges and erasures at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tabularium::consent::{Actor, JobState};
use tabularium::lake::LakeError;
use tabularium::lake::compact::{self, CompactOptions, Effort};

use super::super::brought::many::organization;
use super::super::world::{Connected, World};
use super::service::{check_files, check_records, check_states, is_erased};

const PEOPLE: u64 = 24;
/// The number of concurrent people.
const AT_ONCE: u64 = 6;

/// The facts that reads must agree with.
#[derive(Clone, Default)]
struct Known {
    /// Tokens of people whose records are complete, with the number of a type's records.
    whole: BTreeMap<String, (String, u64)>,
    /// The ids of erased Patients.
    gone: BTreeSet<String>,
}

/// The fate of a person.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Stays,
    /// Their consent ends while their records are fetched or committed, after this many checks of the sync.
    EndsInSync(usize),
    EndsLater,
}

fn fate(person: u64) -> Fate {
    match person % 4 {
        0 | 1 => Fate::Stays,
        2 => Fate::EndsInSync(1 + 3 * person as usize),
        _ => Fate::EndsLater,
    }
}

/// Connects a person. Returns the connection unless the person leaves.
fn go(world: &World, person: u64, known: &Mutex<Known>) -> Option<Connected> {
    let connected = world.connect(organization(person), person);
    if let Fate::EndsInSync(looks) = fate(person) {
        // The consent ends at any time between a job's beginning and its last step.
        let left = AtomicUsize::new(looks);
        world.until("a while of the sync", || {
            left.fetch_sub(1, Ordering::Relaxed) <= 1 || !world.job(&connected).is_open()
        });
    } else {
        assert_eq!(
            world.end_of(&connected),
            JobState::Completed,
            "{:?}",
            world.audit(&connected)
        );
        let count = world.total("Encounter", &connected.token);
        assert_eq!(world.total("Patient", &connected.token), 1);
        let whole = (connected.token.clone(), (connected.patient.clone(), count));
        known.lock().unwrap().whole.insert(whole.0, whole.1);
    }
    if fate(person) == Fate::Stays {
        return Some(connected);
    }
    known.lock().unwrap().whole.remove(&connected.token);
    world
        .store()
        .consents()
        .revoke(&connected.consent, Actor::Application)
        .unwrap();
    assert_eq!(world.get("/fhir/Patient", &connected.token).status, 401);
    let open = format!(
        "SELECT count(*) FROM erasure WHERE done_at IS NULL AND consent = '{}'",
        connected.consent
    );
    world.until("the erasure", || world.count(&open) == 0);
    known.lock().unwrap().gone.insert(connected.patient.clone());
    None
}

/// Reads all people's records by applications' requests.
fn look(world: &World, known: &Mutex<Known>) {
    let application = world.server.application_token();
    let before = known.lock().unwrap().clone();
    let mut found = Vec::new();
    for (token, (patient, count)) in &before.whole {
        found.push((
            token,
            world.get("/fhir/Encounter?_summary=count", token),
            patient,
            count,
        ));
    }
    for patient in &before.gone {
        let answer = world.get(&format!("/fhir/Patient/{patient}"), &application);
        assert_eq!(answer.status, 404, "somebody who had gone is back: {}", answer.text);
    }
    let after = known.lock().unwrap().clone();
    for (token, answer, patient, count) in found {
        // Some may have been erased meanwhile.
        if after.whole.contains_key(token) {
            assert_eq!(answer.json()["total"], json!(count), "{patient}: {}", answer.text);
        }
    }
}

#[test]
fn syncs_erasures_and_compactions_do_not_disturb_each_other() {
    let world = World::working(PEOPLE);
    world
        .payer
        .turn("all", &json!({"withhold": ["ExplanationOfBenefit", "Observation"]}));
    let (known, over) = (Mutex::new(Known::default()), AtomicBool::new(false));
    let (merges, looks) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let stay: Vec<Connected> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match world.lake().writer() {
                    Ok(mut writer) => {
                        let options = CompactOptions::new(Effort::Thorough);
                        let (done, unreadable) = compact::run(&mut writer, &options, |_, _, _| {}).unwrap();
                        assert!(unreadable.is_empty(), "{unreadable:?}");
                        merges.fetch_add(done.merges as usize, Ordering::Relaxed);
                    }
                    Err(LakeError::Busy { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
                // Other writers want the lock too.
                std::thread::park_timeout(std::time::Duration::from_millis(20));
            }
        });
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                look(&world, &known);
                looks.fetch_add(1, Ordering::Relaxed);
                std::thread::park_timeout(std::time::Duration::from_millis(10));
            }
        });
        let connect = |from: u64| {
            let (world, known) = (&world, &known);
            scope.spawn(move || {
                let people = (from..PEOPLE).step_by(AT_ONCE as usize);
                people.filter_map(|person| go(world, person, known)).collect::<Vec<_>>()
            })
        };
        let going: Vec<_> = (0..AT_ONCE).map(connect).collect();
        let came: Vec<_> = going.into_iter().map(|going| going.join()).collect();
        over.store(true, Ordering::Relaxed);
        came.into_iter().flat_map(Result::unwrap).collect()
    });
    println!("{merges:?} merges, {looks:?} looks");
    assert!(merges.into_inner() > 0);
    look(&world, &known);
    world.rest();
    assert_eq!(stay.len() as u64, PEOPLE / 2);
    check_states(&world);
    check_records(&world, &[]);
    check_files(&world);
    assert!(stay.iter().all(|connected| !is_erased(&world, connected)));
    let gone = known.into_inner().unwrap().gone;
    assert_eq!(gone.len() as u64, PEOPLE - PEOPLE / 2);
    let data = world.server.folder().join("data");
    for path in crate::harness::lake::files_below(&data) {
        let bytes = std::fs::read(&path).unwrap();
        let found = gone
            .iter()
            .find(|id| memchr::memmem::find(&bytes, id.as_bytes()).is_some());
        assert_eq!(found, None, "{}", path.display());
    }
}
