//! How a message reaches its receiver: signed, retried, given up, and without regard to other receivers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tabularium::consent::{Actor, DeliveryState};
use tabularium::sync::client::Guard;
use tabularium::webhooks::Settings;

use super::world::{World, accepting, answering, body, is_signed_by, messages, until};
use crate::harness::consented::Finished;
use crate::harness::rogue::{Rogue, Said};
use crate::harness::server::START;

const DAY: i64 = 86_400;

fn are_all(world: &World, state: DeliveryState) -> bool {
    world.deliveries().iter().all(|one| one.state == state)
}

/// A consent with one event.
fn revoked(world: &World) -> Finished {
    let finished = world.exchanged();
    world.sync(&finished);
    finished
}

#[test]
fn a_retried_message_keeps_its_id_and_is_signed_anew() {
    let world = World::new();
    let fails = Arc::new(AtomicBool::new(true));
    let still = fails.clone();
    let receiver = Rogue::start(move |_, _| Said::status(if still.load(Ordering::SeqCst) { 503 } else { 200 }));
    let secret = world.add(&format!("{}/hooks?tenant=1", receiver.base));
    revoked(&world);
    messages(&receiver, 1);
    until("the note of the failure", || world.deliveries()[0].attempts == 1);
    let failed = world.deliveries().remove(0);
    assert_eq!((failed.state, failed.status), (DeliveryState::Waiting, Some(503)));
    assert_eq!(failed.failure.as_deref(), Some("it answered with status 503"));
    let due = failed.due_at.unwrap() - START;
    assert!((4..=6).contains(&due), "{due}");
    fails.store(false, Ordering::SeqCst);
    world.store().clock().advance(7);
    let sent = messages(&receiver, 2);
    until("the delivery", || are_all(&world, DeliveryState::Delivered));
    let delivered = world.deliveries().remove(0);
    assert_eq!((delivered.attempts, delivered.status), (2, Some(200)));
    assert_eq!((delivered.failure, delivered.due_at), (None, None));
    assert_eq!(sent[0].header("webhook-id"), sent[1].header("webhook-id"));
    assert_eq!(sent[0].header("webhook-id"), delivered.event);
    assert_eq!(sent[0].body, sent[1].body);
    for (message, time) in sent.iter().zip([START, START + 7]) {
        assert_eq!(message.header("webhook-timestamp"), time.to_string());
        assert_eq!(message.path, "/hooks?tenant=1");
        assert!(is_signed_by(message, &secret));
    }
    assert_ne!(sent[0].header("webhook-signature"), sent[1].header("webhook-signature"));
}

#[test]
fn failures_are_retried_for_three_days_and_then_given_up() {
    let (world, receiver) = (World::new(), answering(500));
    world.add(&receiver.base);
    revoked(&world);
    let mut waits = Vec::new();
    loop {
        let count = waits.len() as u32 + 1;
        until("an attempt", || world.deliveries()[0].attempts == count);
        let delivery = world.deliveries().remove(0);
        let Some(due) = delivery.due_at else {
            assert_eq!(delivery.state, DeliveryState::GivenUp);
            break;
        };
        let now = world.store().clock().now();
        waits.push(due - now);
        world.store().clock().advance(due - now);
    }
    assert_eq!(
        waits.iter().sum::<i64>(),
        3 * DAY,
        "the last attempt is at the end: {waits:?}"
    );
    assert!((15..25).contains(&waits.len()), "{waits:?}");
    assert!(
        waits[..6].is_sorted() && *waits.iter().max().unwrap() <= 26_000,
        "{waits:?}"
    );
    let said = world.audited("webhook.given-up");
    assert_eq!(said.len(), 1);
    let host = receiver.base.trim_start_matches("http://");
    assert!(
        said[0].starts_with("sync_completed msg_")
            && said[0].ends_with(&format!("for {host}: it answered with status 500")),
        "{said:?}"
    );
    // Nothing more is sent until an operator says so.
    let sent = receiver.asked().len();
    world.store().clock().advance(DAY);
    let id = world.deliveries()[0].id;
    assert_eq!(
        world
            .store()
            .webhooks()
            .resend(&[id], Actor::Operator, Some("ada"))
            .unwrap(),
        1
    );
    until("another attempt", || receiver.asked().len() > sent);
    assert_eq!(receiver.asked().len(), sent + 1);
    assert!(world.audited("webhook.resent")[0].ends_with(", by ada"));
}

/// A clock that is ahead for a moment gives nothing up, as it erases nothing.
#[test]
fn a_wrong_clock_gives_nothing_up() {
    let (world, receiver) = (World::new(), answering(500));
    world.add(&receiver.base);
    revoked(&world);
    until("an attempt", || world.deliveries()[0].attempts == 1);
    world.store().clock().jump(30 * DAY);
    until("an attempt", || world.deliveries()[0].attempts == 2);
    assert_eq!(world.deliveries()[0].state, DeliveryState::Waiting);
    // The next attempt is not a month away when the clock is right again.
    world.store().clock().jump(-30 * DAY);
    until("an attempt", || world.deliveries()[0].attempts == 3);
}

#[test]
fn a_receiver_may_ask_for_a_longer_wait() {
    let world = World::new();
    let receiver = Rogue::start(|_, _| Said::status(429).with("retry-after", "3600"));
    world.add(&receiver.base);
    revoked(&world);
    until("an attempt", || world.deliveries()[0].attempts == 1);
    assert_eq!(world.deliveries()[0].due_at, Some(START + 3_600));
}

#[test]
fn a_redirect_is_not_followed() {
    let (world, elsewhere) = (World::new(), accepting());
    let to = elsewhere.base.clone();
    let receiver = Rogue::start(move |_, _| Said::redirect(&to));
    world.add(&receiver.base);
    revoked(&world);
    until("an attempt", || world.deliveries()[0].attempts == 1);
    let delivery = world.deliveries().remove(0);
    assert_eq!((delivery.state, delivery.status), (DeliveryState::Waiting, Some(302)));
    assert_eq!(
        delivery.failure.as_deref(),
        Some("it answered with a redirect, which is not followed")
    );
    assert_eq!(elsewhere.asked().len(), 0);
}

#[test]
fn a_private_address_is_refused() {
    let (mut world, receiver) = (World::idle(), accepting());
    let port = receiver.base.rsplit(':').next().unwrap().to_owned();
    let addresses = [
        receiver.base.replace("http:", "https:"),
        format!("https://localhost:{port}/hooks?secret=x"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        receiver.base.clone(),
    ];
    for address in &addresses {
        world.add(address);
    }
    revoked(&world);
    world.deliver(Guard::Public, Settings::default());
    until("attempts", || world.deliveries().iter().all(|one| one.attempts == 1));
    for delivery in world.deliveries() {
        let failure = delivery.failure.unwrap();
        assert!(failure.starts_with("the address may not be called"), "{failure}");
        assert!(!failure.contains("secret"), "{failure}");
        assert_eq!((delivery.state, delivery.status), (DeliveryState::Waiting, None));
    }
    assert_eq!(receiver.asked().len(), 0);
}

#[test]
fn a_receiver_that_answers_410_is_disabled() {
    let (world, receiver, other) = (World::new(), answering(410), accepting());
    world.add(&receiver.base);
    world.add(&other.base);
    let (first, second) = (world.exchanged(), world.exchanged());
    world.sync_and_revoke(&first);
    until("the end", || {
        let receivers = world.store().webhooks().receivers(None).unwrap();
        receivers.iter().any(|one| one.disabled_at.is_some())
    });
    world.sync_and_revoke(&second);
    messages(&other, 4);
    until("the end", || world.deliveries().iter().all(|one| one.due_at.is_none()));
    let gone: Vec<_> = world
        .deliveries()
        .into_iter()
        .filter(|one| one.url == receiver.base)
        .collect();
    assert!(gone.iter().all(|one| one.state == DeliveryState::GivenUp), "{gone:?}");
    assert!((1..=2).contains(&gone.len()) && receiver.asked().len() == 1, "{gone:?}");
    assert_eq!(world.audited("application.webhook-disabled").len(), 1);
    let refused = world.store().webhooks().resend(&[gone[0].id], Actor::Operator, None);
    assert!(refused.unwrap_err().to_string().contains("is disabled"));
    // What was given up for it stays, and can be sent once the receiver is enabled.
    let webhooks = world.store().webhooks();
    let application = application_of(&world);
    let given_up = || webhooks.resend_given_up(&application, None, Actor::Operator).unwrap();
    assert_eq!((given_up().count, given_up().disabled), (0, gone.len()));
    assert!(webhooks.enable(&application, &receiver.base, Actor::Operator).unwrap());
    assert!(!webhooks.enable(&application, &receiver.base, Actor::Operator).unwrap());
    assert_eq!(world.audited("application.webhook-enabled").len(), 1);
    let resent = given_up();
    assert_eq!((resent.count, resent.disabled), (gone.len(), 0));
}

/// The application of the receivers.
fn application_of(world: &World) -> String {
    world.store().webhooks().receivers(None).unwrap()[0].application.clone()
}

/// A door that is closed until it is opened.
#[derive(Default)]
struct Door {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Door {
    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn close(&self) {
        *self.open.lock().unwrap() = false;
    }

    fn wait(&self) {
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_while(open, |open| !*open).unwrap());
    }
}

#[test]
fn a_receiver_that_does_not_answer_delays_nobody_else() {
    let (mut world, other, door) = (World::idle(), accepting(), Arc::new(Door::default()));
    let (closed, inside, most) = (
        door.clone(),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (now, peak) = (inside.clone(), most.clone());
    let slow = Rogue::start(move |_, _| {
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        closed.wait();
        now.fetch_sub(1, Ordering::SeqCst);
        Said::status(200)
    });
    world.add(&slow.base);
    world.add(&other.base);
    let settings = Settings {
        timeout: Duration::from_secs(120),
        of_receiver: 2,
        all: 4,
    };
    // A receiver gets its whole share once it has accepted a message.
    door.open();
    world.revoke(&world.exchanged());
    world.deliver(Guard::Private, settings);
    until("the first deliveries", || are_all(&world, DeliveryState::Delivered));
    door.close();
    for _ in 0..10 {
        world.revoke(&world.exchanged());
    }
    // Each revocation also stops a job.
    messages(&other, 22);
    until("the other's deliveries", || {
        let deliveries = world.deliveries();
        let mut others = deliveries.iter().filter(|one| one.url == other.base);
        others.all(|one| one.state == DeliveryState::Delivered)
    });
    assert_eq!(inside.load(Ordering::SeqCst), 2, "the slow one still holds its share");
    door.open();
    messages(&slow, 22);
    until("all deliveries", || are_all(&world, DeliveryState::Delivered));
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

/// Receivers that fail, and keep each attempt until its timeout, took all places.
#[test]
fn many_receivers_that_fail_leave_places_for_the_others() {
    let (mut world, other) = (World::idle(), accepting());
    // Listeners that accept connections and never answer.
    let silent: Vec<TcpListener> = (0..4).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for listener in &silent {
        world.add(&format!("http://{}", listener.local_addr().unwrap()));
    }
    world.revoke(&world.exchanged());
    let settings = Settings {
        timeout: Duration::from_secs(2),
        of_receiver: 2,
        all: 4,
    };
    world.deliver(Guard::Private, settings);
    let is_failed = || world.deliveries().iter().filter(|one| one.failure.is_some()).count() == 4;
    until("a failure of each", is_failed);
    world.add(&other.base);
    for _ in 0..10 {
        world.revoke(&world.exchanged());
    }
    messages(&other, 20);
    until("the other's deliveries", || {
        let deliveries = world.deliveries();
        let mut others = deliveries.iter().filter(|one| one.url == other.base);
        others.all(|one| one.state == DeliveryState::Delivered)
    });
    let deliveries = world.deliveries();
    let silent = deliveries.iter().filter(|one| one.url != other.base);
    let mut failures = silent.filter_map(|one| one.failure.as_deref());
    assert!(failures.all(|why| why.ends_with("did not answer in time")));
}

/// The answer's body is not needed, and a hostile one may be endless.
#[test]
fn an_endless_answer_is_not_read() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    world.add(&format!("http://{}", listener.local_addr().unwrap()));
    let wrote = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            let mut bytes = [0; 4_096];
            let read = stream.read(&mut bytes).unwrap();
            request.extend_from_slice(&bytes[..read]);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9000000000\r\n\r\n");
        let mut wrote = 0;
        while wrote < (64 << 20) && stream.write_all(&[b'x'; 1 << 16]).is_ok() {
            wrote += 1 << 16;
        }
        wrote
    });
    revoked(&world);
    until("the delivery", || are_all(&world, DeliveryState::Delivered));
    assert!(wrote.join().unwrap() < 64 << 20);
}

#[test]
fn during_a_rotation_both_secrets_sign() {
    let (world, receiver) = (World::new(), accepting());
    let first = world.add(&receiver.base);
    let rotate = |grace| {
        let webhooks = world.store().webhooks();
        let rotated = webhooks
            .rotate(&world.app.id, &receiver.base, grace, Actor::Operator)
            .unwrap();
        rotated.unwrap().secret
    };
    let second = rotate(3_600);
    revoked(&world);
    let sent = messages(&receiver, 1);
    assert!(is_signed_by(&sent[0], &first) && is_signed_by(&sent[0], &second));
    assert_eq!(sent[0].header("webhook-signature").split(' ').count(), 2);
    world.store().clock().advance(3_600);
    revoked(&world);
    let sent = messages(&receiver, 2);
    assert!(!is_signed_by(&sent[1], &first) && is_signed_by(&sent[1], &second));
    assert_eq!(sent[1].header("webhook-signature").split(' ').count(), 1);
    // At most two, and none of a rotation without a grace period.
    let (third, fourth) = (rotate(3_600), rotate(3_600));
    revoked(&world);
    let sent = messages(&receiver, 3);
    assert_eq!(sent[2].header("webhook-signature").split(' ').count(), 2);
    assert!(is_signed_by(&sent[2], &third) && is_signed_by(&sent[2], &fourth) && !is_signed_by(&sent[2], &second));
    let fifth = rotate(0);
    revoked(&world);
    let sent = messages(&receiver, 4);
    assert!(is_signed_by(&sent[3], &fifth) && !is_signed_by(&sent[3], &fourth));
}

#[test]
fn a_removed_receiver_gets_nothing_more() {
    let (mut world, receiver) = (World::idle(), accepting());
    world.add(&receiver.base);
    revoked(&world);
    let remove = || {
        world
            .store()
            .webhooks()
            .remove(&world.app.id, &receiver.base, Actor::Operator)
            .unwrap()
    };
    assert!(remove() && !remove());
    assert_eq!(world.deliveries(), []);
    let other = accepting();
    world.add(&other.base);
    revoked(&world);
    world.deliver(Guard::Private, Settings::default());
    messages(&other, 1);
    assert_eq!(receiver.asked().len(), 0);
}

#[test]
fn old_events_are_deleted_and_waiting_ones_stay() {
    let (world, receiver, failing) = (World::new(), accepting(), answering(500));
    world.add(&receiver.base);
    revoked(&world);
    until("the delivery", || are_all(&world, DeliveryState::Delivered));
    world.add(&failing.base);
    revoked(&world);
    let events = || world.count("SELECT count(*) FROM webhook_event");
    assert_eq!(events(), 2);
    world.store().clock().advance(600);
    world.store().sweep().unwrap();
    world.store().clock().advance(31 * DAY);
    world.store().sweep().unwrap();
    until("the last attempt", || {
        world.deliveries().iter().all(|one| one.state != DeliveryState::Waiting)
    });
    assert_eq!(body(&receiver.asked()[0])["type"], "sync_completed");
    world.store().clock().advance(3_601);
    world.store().sweep().unwrap();
    assert_eq!(events(), 0);
    assert_eq!(world.count("SELECT count(*) FROM webhook_delivery"), 0);
}
