//! `tabularium listen`: events of a folder go to a local address while the command runs, and only then.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use tabularium::consent::DeliveryState;

use super::world::{World, accepting, answering, event_type, is_signed_by, messages, until};
use crate::harness::command::{PROGRAM, run};
use crate::harness::consented::{App, Flow};
use crate::harness::rogue::Rogue;

/// A running `tabularium listen`. It ends with its standard input.
struct Listening {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Listening {
    fn start(world: &World, receiver: &Rogue, options: &[&str]) -> Listening {
        let mut child = Command::new(PROGRAM)
            .args([
                "listen",
                "--app",
                &world.app.id,
                "--forward",
                &receiver.base,
                "--until-stdin-ends",
            ])
            .args(options)
            .arg("--data")
            .arg(world.server.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let lines = BufReader::new(output).lines();
        Listening { child, input, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// Ends it as its user would. Returns its exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The service's clock stands still in 2027, and the command uses the machine's. So its lease looks long or over.
fn receivers(world: &World) -> i64 {
    world.count("SELECT count(*) FROM webhook_receiver")
}

/// Lets the lease of the command's receiver hold by the service's clock.
fn lengthen(world: &World) {
    world.sql("UPDATE webhook_receiver SET listens_until = 4000000000");
}

#[test]
fn events_are_forwarded_signed_with_a_line_each() {
    let (world, receiver) = (World::new(), accepting());
    let mut listening = Listening::start(&world, &receiver, &["--json"]);
    let begun: Value = serde_json::from_str(&listening.line()).unwrap();
    let secret = begun["secret"].as_str().unwrap().to_owned();
    lengthen(&world);
    let finished = world.exchanged();
    world.sync_and_revoke(&finished);
    let other = App::register(world.store(), "other");
    world.revoke(&world.exchanged_by(&Flow::of(&other)));
    let lines: Vec<Value> = (0..2)
        .map(|_| serde_json::from_str(&listening.line()).unwrap())
        .collect();
    for (line, expected) in lines.iter().zip(["sync_completed", "consent_revoked"]) {
        assert_eq!(
            (&line["type"], &line["status"], &line["failure"]),
            (&expected.into(), &204.into(), &Value::Null)
        );
        assert_eq!(line["consentId"], finished.consent.as_str());
    }
    let sent = messages(&receiver, 2);
    assert_eq!(sent.len(), 2);
    for (message, line) in sent.iter().zip(&lines) {
        assert!(is_signed_by(message, &secret));
        assert_eq!(message.header("webhook-id"), line["event"]);
        assert_eq!(event_type(message), line["type"].as_str().unwrap());
    }
    assert_eq!(listening.end(), Some(0));
    assert_eq!(
        (receivers(&world), world.deliveries().len()),
        (0, 0),
        "nothing of it stays"
    );
}

#[test]
fn a_failure_is_told_and_not_retried() {
    let (world, receiver) = (World::new(), answering(500));
    let mut listening = Listening::start(&world, &receiver, &[]);
    let first = listening.line();
    assert!(
        first.starts_with(&format!("Events of portal go to {}, signed with whsec_", receiver.base)),
        "{first}"
    );
    lengthen(&world);
    let finished = world.exchanged();
    world.sync_and_revoke(&finished);
    for expected in ["sync_completed", "consent_revoked"] {
        let line = listening.line();
        assert!(
            line.contains(expected) && line.ends_with("it answered with status 500"),
            "{line}"
        );
    }
    assert!(
        world
            .deliveries()
            .iter()
            .all(|one| one.state == DeliveryState::GivenUp && one.attempts == 1)
    );
    assert_eq!(receiver.asked().len(), 2);
    assert_eq!(world.audited("webhook.given-up").len(), 0);
}

#[test]
fn an_unknown_application_and_a_bad_address_are_refused() {
    let world = World::idle();
    let data = world.server.folder().to_str().unwrap();
    for (app, address, words) in [
        ("nobody", "http://127.0.0.1:9/", "no application is called \"nobody\""),
        ("portal", "ftp://127.0.0.1/", "neither https nor http"),
        ("portal", "http://169.254.169.254/", "may not be called"),
        ("portal", "http://127.0.0.1:9/#x", "has a fragment"),
    ] {
        let done = run(&["listen", "--app", app, "--forward", address, "--data", data]);
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!((done.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(receivers(&world), 0);
}

#[test]
fn a_command_that_was_killed_gets_no_more_events() {
    let (world, registered) = (World::new(), accepting());
    let listening = world
        .store()
        .webhooks()
        .listen("portal", "http://127.0.0.1:9/")
        .unwrap();
    world.add(&registered.base);
    world.sync(&world.exchanged());
    assert_eq!(world.deliveries().len(), 2);
    // The service leaves the event to the command.
    messages(&registered, 1);
    until("the delivery", || {
        world
            .deliveries()
            .iter()
            .any(|one| one.state == DeliveryState::Delivered)
    });
    let of_listener = world.store().webhooks().due_of(&listening.id, 9).unwrap();
    assert_eq!(of_listener.len(), 1);
    assert_eq!(world.deliveries().iter().map(|one| one.attempts).sum::<u32>(), 1);
    // The lease is renewed, and then ends.
    world.store().clock().advance(59);
    assert!(world.store().webhooks().keep_listening(&listening.id).unwrap());
    world.store().clock().advance(59);
    world.sync(&world.exchanged());
    assert_eq!(world.deliveries().len(), 4);
    world.store().clock().advance(1);
    world.sync(&world.exchanged());
    assert_eq!(world.deliveries().len(), 5);
    world.store().clock().advance(600);
    world.store().sweep().unwrap();
    world.store().clock().advance(3_601);
    world.store().sweep().unwrap();
    assert_eq!(receivers(&world), 1);
    assert!(!world.store().webhooks().keep_listening(&listening.id).unwrap());
    // A receiver of this kind is none of the five, and cannot be rotated or removed.
    let webhooks = world.store().webhooks();
    let again = webhooks.listen("portal", "http://127.0.0.1:9/").unwrap();
    let actor = tabularium::consent::Actor::Operator;
    assert!(webhooks.rotate("portal", &again.id, 0, actor).unwrap().is_none());
    assert!(!webhooks.remove("portal", &again.id, actor).unwrap());
}
