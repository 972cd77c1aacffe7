//! Links to a health card: recipients get a card that verifies and is revoked with its records.

use serde_json::{Value, json};
use tabularium::lake::Mode;

use super::{Link, made, never, over, server};
use crate::harness::server::Server;
use crate::patient::cards::{names, read, revoked};

const MEDIA: &str = "application/smart-health-card";

/// The card of a link.
fn card(server: &Server, link: &Link) -> String {
    let manifest = link.manifest(server, &json!({})).json();
    let [file] = manifest["files"].as_array().unwrap().as_slice() else {
        panic!("{manifest}");
    };
    assert_eq!((&file["contentType"], file.get("fhirVersion")), (&json!(MEDIA), None));
    only(&link.file(file["embedded"].as_str().unwrap(), MEDIA))
}

/// The one card in a file.
fn only(file: &Value) -> String {
    assert_eq!(file.as_object().unwrap().len(), 1, "{file}");
    let [card] = file["verifiableCredential"].as_array().unwrap().as_slice() else {
        panic!("one card: {file}");
    };
    card.as_str().unwrap().to_owned()
}

#[test]
fn a_link_leads_to_a_card_that_verifies() {
    let server = server();
    let made = made(&server, &json!({"content": "health-card", "label": "Card"}));
    assert_eq!(
        (&made["content"], &made["label"]),
        (&json!("health-card"), &json!("Card"))
    );
    let link = Link::of(&server, &made);
    let said = read(&server, &card(&server, &link)).to_string();
    assert!(said.contains("Asthma") && said.contains("Anna Example"), "{said}");
    assert!(!said.contains("Gout") && !said.contains("Bert"), "{said}");
}

#[test]
fn flags_go_with_cards_as_with_summaries() {
    let server = server();
    let direct = made(&server, &json!({"content": "health-card", "flag": "U"}));
    let link = Link::of(&server, &direct);
    let answer = server.send("GET", &format!("{}?recipient=Dr.%20Test", link.path), &[], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/jose")
    );
    read(&server, &only(&link.file(&answer.text, MEDIA)));
    let locked = made(&server, &json!({"content": "health-card", "passcode": "2468"}));
    let link = Link::of(&server, &locked);
    assert_eq!(link.manifest(&server, &json!({})).status, 401);
    assert_eq!(link.manifest(&server, &json!({"passcode": "2468"})).status, 200);
}

/// The link ends with the records, and so does a card that somebody has saved.
#[test]
fn the_card_of_a_link_is_revoked_with_its_records() {
    let server = server();
    let annas = Link::of(&server, &made(&server, &json!({"content": "health-card"})));
    let kept = card(&server, &annas);
    let (kid, rid) = names(&server, &kept);
    assert!(revoked(&server, &kid).1.is_empty());
    server.store.forget_imported("local", Mode::Live, "anna").unwrap();
    assert_eq!(over(&annas.manifest(&server, &json!({}))), never(&server));
    assert_eq!(revoked(&server, &kid).1, [json!(rid)]);
}
