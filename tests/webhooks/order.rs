//! Events of one consent reach a receiver in their order, whatever fails, is sent again or is given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tabularium::consent::{Actor, DeliveryState, Outcome, Settled};

use super::world::{World, accepting, body, event_type, messages, until};
use crate::harness::consented::Finished;
use crate::harness::rogue::{Rogue, Said};

#[test]
fn a_later_event_waits_for_an_earlier_one_of_its_consent() {
    let world = World::new();
    let failing: Arc<Mutex<Option<String>>> = Arc::default();
    let fails = failing.clone();
    let receiver = Rogue::start(move |asked, _| {
        let consent = body(asked)["data"]["consentId"].as_str().map(str::to_owned);
        Said::status(if *fails.lock().unwrap() == consent { 500 } else { 200 })
    });
    let healthy = accepting();
    world.add(&receiver.base);
    world.add(&healthy.base);
    let (one, other) = (world.exchanged(), world.exchanged());
    *failing.lock().unwrap() = Some(one.consent.clone());
    world.sync_and_revoke(&one);
    world.sync_and_revoke(&other);
    // Neither another consent nor another receiver waits.
    until("the other deliveries", || {
        let deliveries = world.deliveries();
        let mut others = deliveries
            .iter()
            .filter(|delivery| delivery.consent != one.consent || delivery.url == healthy.base);
        others.all(|delivery| delivery.state == DeliveryState::Delivered)
    });
    let of_one = || {
        let asked = receiver.asked();
        let own = asked.iter().filter(|asked| asked.body.contains(&one.consent));
        own.map(event_type).collect::<Vec<_>>()
    };
    assert_eq!(of_one(), ["sync_completed"]);
    *failing.lock().unwrap() = None;
    world.store().clock().advance(10);
    until("the end", || {
        world
            .deliveries()
            .iter()
            .all(|one| one.state == DeliveryState::Delivered)
    });
    assert_eq!(of_one(), ["sync_completed", "sync_completed", "consent_revoked"]);
    assert_eq!(messages(&healthy, 4).len(), 4);
}

/// An attempt that a walk has taken from the queue, and whose result it has not stored yet.
struct Taken {
    delivery: i64,
    consent: String,
}

/// Random events, attempts, results, retries and clocks. The queue is that of the store; no message is posted.
#[test]
fn random_walks_keep_the_order() {
    for seed in 0..12 {
        let mut chance = ChaCha8Rng::seed_from_u64(seed);
        let world = World::idle();
        world.add("https://app.example/hooks");
        let consents: Vec<Finished> = (0..4).map(|_| world.exchanged()).collect();
        let mut taken: Vec<Taken> = Vec::new();
        // The numbers of accepted deliveries by consent, in the order of their acceptance.
        let mut accepted: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let mut given_up: BTreeSet<i64> = BTreeSet::new();
        for _ in 0..150 {
            match chance.random_range(0..10) {
                0..3 => make_event(&world, &consents[chance.random_range(0..consents.len())]),
                3..6 => take(&world, &mut taken),
                6..9 if !taken.is_empty() => {
                    let one = taken.swap_remove(chance.random_range(0..taken.len()));
                    let outcome = match chance.random_range(0..3) {
                        0 => Outcome::Accepted(200),
                        _ => Outcome::Failed {
                            status: Some(500),
                            why: "no".to_owned(),
                            retry_after: None,
                        },
                    };
                    match world.store().webhooks().settle(one.delivery, &outcome).unwrap() {
                        Settled::Delivered => accepted.entry(one.consent).or_default().push(one.delivery),
                        Settled::GivenUp => drop(given_up.insert(one.delivery)),
                        Settled::Again(_) | Settled::Lost => {}
                    }
                }
                _ => world.store().clock().advance(chance.random_range(0..40_000)),
            }
            check_queue(&world);
        }
        // At the end everything is accepted.
        while world.deliveries().iter().any(|one| one.state == DeliveryState::Waiting) {
            take(&world, &mut taken);
            for one in taken.drain(..) {
                let settled = world.store().webhooks().settle(one.delivery, &Outcome::Accepted(200));
                assert_eq!(settled.unwrap(), Settled::Delivered);
                accepted.entry(one.consent).or_default().push(one.delivery);
            }
            world.store().clock().advance(30_000);
        }
        for (consent, accepted) in &accepted {
            assert!(accepted.is_sorted(), "seed {seed}, {consent}: {accepted:?}");
        }
        let all: usize = accepted.values().map(Vec::len).sum();
        assert_eq!(all + given_up.len(), world.deliveries().len(), "seed {seed}");
        assert!(all > 10, "seed {seed}: {all}");
    }
}

/// Ends a consent's open job, and makes another one.
fn make_event(world: &World, finished: &Finished) {
    let jobs = world.store().jobs();
    jobs.due(100, 100).unwrap();
    let open = jobs.of_authorization(&finished.authorizations[0]).unwrap();
    let job = open.iter().find(|job| job.state.is_open()).unwrap();
    assert!(jobs.begin(&job.id).unwrap().is_some());
    assert!(jobs.complete(&job.id, "stored").unwrap());
    jobs.create(&finished.authorizations[0], "refresh").unwrap();
}

/// Takes what is due and was not taken.
fn take(world: &World, taken: &mut Vec<Taken>) {
    for due in world.store().webhooks().due(3).unwrap() {
        if taken.iter().all(|one| one.delivery != due.delivery) {
            let message = world.store().webhooks().outgoing(due.delivery).unwrap().unwrap();
            taken.push(Taken {
                delivery: due.delivery,
                consent: message.consent,
            });
        }
    }
}

/// Of each consent that waits, exactly one delivery has a time: the first.
fn check_queue(world: &World) {
    let mut first: BTreeMap<String, i64> = BTreeMap::new();
    for one in world
        .deliveries()
        .iter()
        .filter(|one| one.state == DeliveryState::Waiting)
    {
        let head = *first.entry(one.consent.clone()).or_insert(one.id);
        assert_eq!(one.due_at.is_some(), one.id == head, "{one:?}");
    }
}

/// A message that is sent again goes before later ones that still wait.
#[test]
fn a_message_that_is_sent_again_takes_its_place() {
    let world = World::idle();
    world.add("https://app.example/hooks");
    let finished = world.exchanged();
    make_event(&world, &finished);
    let first = world.deliveries()[0].id;
    let webhooks = world.store().webhooks();
    webhooks.settle(first, &Outcome::Accepted(200)).unwrap();
    make_event(&world, &finished);
    make_event(&world, &finished);
    let ids: Vec<i64> = world.deliveries().iter().map(|one| one.id).collect();
    let due = || {
        webhooks
            .due(9)
            .unwrap()
            .iter()
            .map(|due| due.delivery)
            .collect::<Vec<_>>()
    };
    assert_eq!(due(), [ids[1]]);
    assert_eq!(webhooks.resend(&[first], Actor::Operator, None).unwrap(), 1);
    assert_eq!(due(), [ids[1]], "it may be on its way");
    webhooks.settle(ids[1], &Outcome::Accepted(200)).unwrap();
    assert_eq!(due(), [first]);
    webhooks.settle(first, &Outcome::Accepted(200)).unwrap();
    assert_eq!(due(), [ids[2]]);
    // A later one that waits for a retry waits behind the one that is sent again.
    let failed = Outcome::Failed {
        status: Some(503),
        why: "it answered with status 503".to_owned(),
        retry_after: None,
    };
    webhooks.settle(ids[2], &failed).unwrap();
    assert!(due().is_empty());
    assert_eq!(webhooks.resend(&[first], Actor::Operator, None).unwrap(), 1);
    assert_eq!(due(), [first]);
    webhooks.settle(first, &Outcome::Accepted(200)).unwrap();
    assert_eq!(due(), [ids[2]]);
    // One that waits behind another cannot be sent now.
    make_event(&world, &finished);
    let last = world.deliveries().last().unwrap().id;
    assert_eq!(webhooks.resend(&[last], Actor::Operator, None).unwrap(), 0);
}
