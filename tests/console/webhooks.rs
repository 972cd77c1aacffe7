//! The console's lists of receivers and deliveries, and its only form that changes what others get.

use tabularium::consent::{Actor, DeliveryFilter, DeliveryState, Outcome};

use super::world::{Visitor, records};
use crate::harness::consented::{App, Flow};
use crate::harness::server::Server;

/// A server with an application whose event was delivered. Returns the number of the delivery.
fn delivered(server: &Server) -> i64 {
    let app = App::register(&server.store, "portal");
    let webhooks = server.store.webhooks();
    webhooks
        .add(&app.id, "https://app.example/hooks?x=<b>", Actor::Operator)
        .unwrap_err();
    webhooks
        .add(&app.id, "https://app.example/hooks?x=1&y=2", Actor::Operator)
        .unwrap();
    let finished = Flow::of(&app).finish(server);
    server
        .store
        .consents()
        .revoke(&finished.consent, Actor::Patient)
        .unwrap();
    let due = webhooks.due(9).unwrap().remove(0);
    webhooks.settle(due.delivery, &Outcome::Accepted(202)).unwrap();
    due.delivery
}

fn state(server: &Server) -> DeliveryState {
    let filter = DeliveryFilter {
        limit: 1,
        ..DeliveryFilter::default()
    };
    server.store.webhooks().deliveries(&filter).unwrap().remove(0).state
}

#[test]
fn receivers_and_deliveries_are_listed() {
    let server = Server::imported(&records());
    delivered(&server);
    let visitor = Visitor::enter(&server);
    let page = visitor.page("/console/kept/webhooks");
    for part in [
        "https://app.example/hooks?x=1&#38;y=2",
        "<td>active</td>",
        ">portal</a>",
    ] {
        assert!(page.replace("&amp;", "&#38;").contains(part), "{part}: {page}");
    }
    assert!(!page.contains("whsec_"));
    let page = visitor.page("/console/kept/deliveries");
    for part in [
        "consent_revoked",
        "<td>DELIVERED</td>",
        "<td>202</td>",
        "Send again",
        "/console/kept/consents/",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_delivery_is_sent_again_by_a_form_of_the_session_only() {
    let server = Server::imported(&records());
    let path = format!("/console/kept/deliveries/{}/resend", delivered(&server));
    let visitor = Visitor::enter(&server);
    for fields in [&[][..], &[("csrf", "x")]] {
        assert_eq!(visitor.post(&path, fields).status, 403);
    }
    assert_eq!(state(&server), DeliveryState::Delivered);
    let answer = visitor.send(&path, &[]);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, "/console/kept/deliveries")
    );
    assert_eq!(state(&server), DeliveryState::Waiting);
    let newest = server.store.audit().newest(None, 1).unwrap().remove(0);
    assert_eq!(
        (newest.action.as_str(), newest.actor),
        ("webhook.resent", Actor::Operator)
    );
    assert!(
        newest.detail.starts_with("msg_") && newest.detail.ends_with(" to app.example, by ada"),
        "{newest:?}"
    );
    for nothing in ["999", "x", "-1"] {
        let answer = visitor.send(&format!("/console/kept/deliveries/{nothing}/resend"), &[]);
        assert_eq!(answer.status, 404, "{nothing}");
    }
}
