//! Who may be a receiver, and the commands and pages that show receivers and deliveries.

use serde_json::{Value, json};
use tabularium::consent::{Actor, DeliveryState, Outcome};

use super::world::{World, accepting, until};
use crate::harness::command::run;

/// The exit code and the output of `tabularium app webhooks` on the service's folder.
fn webhooks(world: &World, arguments: &[&str]) -> (Option<i32>, String, String) {
    let data = world.server.folder().to_str().unwrap();
    let done = run(&[&["app", "webhooks"], arguments, &["--data", data]].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

fn printed(world: &World, arguments: &[&str]) -> String {
    let (code, out, error) = webhooks(world, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {error}");
    out
}

fn as_json(world: &World, arguments: &[&str]) -> Value {
    serde_json::from_str(&printed(world, &[arguments, &["--json"]].concat())).unwrap()
}

fn refused(world: &World, arguments: &[&str]) -> String {
    let (code, _, error) = webhooks(world, arguments);
    assert_eq!((code, error.lines().count()), (Some(2), 1), "{arguments:?}: {error}");
    error
}

#[test]
fn an_application_has_at_most_five_receivers_of_good_form() {
    let world = World::idle();
    let add = |url: &str| world.store().webhooks().add(&world.app.id, url, Actor::Operator);
    for bad in [
        "",
        "app.example",
        "ftp://app.example/",
        "https://a:b@app.example/",
        "https://app.example/#x",
    ] {
        assert!(add(bad).is_err(), "{bad}");
    }
    for at in 0..5 {
        let added = add(&format!("https://app.example/{at}")).unwrap();
        assert!(
            added.secret.starts_with("whsec_") && added.secret.len() == 50,
            "{}",
            added.secret.len()
        );
    }
    let twice = add("https://app.example/0").unwrap_err().to_string();
    assert!(twice.contains("is a receiver already"), "{twice}");
    let sixth = add("https://app.example/5").unwrap_err().to_string();
    assert!(sixth.contains("at most five"), "{sixth}");
    assert!(
        world
            .store()
            .webhooks()
            .add("nobody", "https://app.example/", Actor::Operator)
            .is_err()
    );
    // Another application has five of its own.
    world
        .store()
        .webhooks()
        .add("local", "https://app.example/0", Actor::Operator)
        .unwrap();
}

#[test]
fn commands_add_list_rotate_and_remove_receivers() {
    let world = World::idle();
    let url = "https://app.example/hooks?token=quiet";
    let added = as_json(&world, &["add", "portal", url]);
    assert!(added["secret"].as_str().unwrap().starts_with("whsec_"));
    let listed = as_json(&world, &["list", "portal"]);
    let receiver = &listed[0];
    assert_eq!(
        (
            &receiver["id"],
            &receiver["url"],
            &receiver["state"],
            &receiver["disabledAt"]
        ),
        (&added["id"], &json!(url), &json!("active"), &Value::Null)
    );
    assert!(!listed.to_string().contains("whsec_"), "{listed}");
    let table = printed(&world, &["list", "portal"]);
    assert!(table.contains(url) && table.contains("active"), "{table}");
    let rotated = as_json(&world, &["rotate", "portal", url]);
    assert!(rotated["id"] == added["id"] && rotated["secret"] != added["secret"]);
    let said = printed(&world, &["rotate", "portal", url, "--grace", "0"]);
    assert!(said.contains("The earlier secret signs no more."), "{said}");
    for (arguments, words) in [
        (&["add", "portal", url][..], "is a receiver already"),
        (&["add", "nobody", "https://app.example/"], "no application is called"),
        (&["add", "portal", "http://app.example/"], "--allow-private-sources"),
        (&["add", "portal", "https://127.0.0.1/"], "--allow-private-sources"),
        (
            &["add", "portal", "https://169.254.169.254/", "--allow-private-sources"],
            "may not be called",
        ),
        (&["rotate", "portal", "https://other.example/"], "has no receiver"),
        (&["remove", "portal", "https://other.example/"], "has no receiver"),
        (&["list", "nobody"], "no application is called"),
        (&["resend", "portal", "msg_none"], "has no delivery"),
    ] {
        let error = refused(&world, arguments);
        assert!(error.contains(words), "{error}");
    }
    let id = added["id"].as_str().unwrap();
    let removed = as_json(&world, &["remove", "portal", id]);
    assert_eq!(
        removed,
        json!({"application": "portal", "receiver": id, "removed": true})
    );
    assert_eq!(as_json(&world, &["list", "portal"]), json!([]));
    // The audit log names hosts, and never a path, a query or a secret.
    for (action, count) in [
        ("application.webhook-added", 1),
        ("application.webhook-secret-rotated", 2),
        ("application.webhook-removed", 1),
    ] {
        assert_eq!(world.audited(action), vec!["app.example"; count], "{action}");
    }
}

#[test]
fn commands_list_deliveries_and_send_them_again() {
    let world = World::idle();
    world.add("https://app.example/hooks");
    let finished = world.exchanged();
    world.sync_and_revoke(&finished);
    let first = world.deliveries().remove(0);
    let failed = Outcome::Failed {
        status: Some(500),
        why: "it answered with status 500".to_owned(),
        retry_after: None,
    };
    world.store().clock().advance(600);
    world.store().sweep().unwrap();
    world.store().clock().advance(4 * 86_400);
    for one in world.deliveries() {
        world.store().webhooks().settle(one.id, &failed).unwrap();
    }
    assert!(world.deliveries().iter().all(|one| one.state == DeliveryState::GivenUp));
    let listed = as_json(&world, &["deliveries", "portal", "--given-up"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    let oldest = &listed[1];
    assert_eq!(
        (
            &oldest["event"],
            &oldest["type"],
            &oldest["state"],
            &oldest["attempts"],
            &oldest["status"]
        ),
        (
            &json!(first.event),
            &json!("sync_completed"),
            &json!("GIVEN_UP"),
            &json!(1),
            &json!(500)
        )
    );
    let table = printed(&world, &["deliveries", "portal"]);
    assert!(
        table.contains("consent_revoked") && table.contains("it answered with status 500"),
        "{table}"
    );
    assert_eq!(
        as_json(&world, &["resend", "portal", &first.event]),
        json!({"resent": 1, "disabled": 0})
    );
    assert_eq!(
        as_json(&world, &["resend", "portal", "--given-up"]),
        json!({"resent": 1, "disabled": 0})
    );
    assert_eq!(
        as_json(&world, &["resend", "portal", "--given-up"]),
        json!({"resent": 0, "disabled": 0})
    );
    let said = printed(
        &world,
        &["resend", "portal", &first.event, "--to", "https://app.example/hooks"],
    );
    assert_eq!(said, "1 message will be sent again\n");
    assert_eq!(as_json(&world, &["deliveries", "other-app"]), json!([]));
}

/// The commands write the store of a serving process, which uses the change.
#[test]
fn a_running_service_delivers_to_a_receiver_that_a_command_has_added() {
    let (world, receiver) = (World::new(), accepting());
    let finished = world.exchanged();
    printed(&world, &["add", "portal", &receiver.base, "--allow-private-sources"]);
    world.sync(&finished);
    until("a message", || receiver.asked().len() == 1);
}
