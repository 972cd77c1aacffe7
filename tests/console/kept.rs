//! The console's lists of the service's data, and its entries in the audit log.

use crate::harness::server::Server;

use super::world::{PAGES, Visitor, records};

#[test]
fn every_look_at_records_is_in_the_log_and_names_nobody() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let before = server.store.audit().newest(None, 1_000).unwrap();
    assert!(
        before
            .iter()
            .any(|entry| entry.action == "console.sign_in" && entry.detail == "by ada")
    );
    for path in PAGES {
        visitor.page(path);
    }
    let entries = server.store.audit().newest(None, 1_000).unwrap();
    let looks: Vec<&str> = entries
        .iter()
        .filter(|entry| entry.action == "console.look")
        .map(|entry| {
            assert_eq!(
                (entry.actor.name(), entry.application.as_deref()),
                ("operator", Some("local"))
            );
            entry.detail.split(' ').next().unwrap()
        })
        .collect();
    let expected = [
        "explain",
        "fhirpath",
        "pdf",
        "summary",
        "everything",
        "patient",
        "resource",
        "table",
    ];
    assert_eq!(looks, expected, "newest first");
    for entry in &entries {
        let said = format!("{entry:?}");
        assert!(
            !said.contains("ann") && !said.contains("Hill") && !said.contains("8480"),
            "{said}"
        );
    }
    let page = visitor.page("/console/patient/live/local/ann");
    let mark = super::world::between(&page, "<code>person ", "</code>");
    let log = visitor.page("/console/kept/audit");
    assert!(log.contains(&format!("patient by ada: live person {mark}")), "{log}");
}

#[test]
fn a_persons_consent_is_named_where_there_is_one() {
    let server = Server::imported(&records());
    server.patient_token("ann");
    let visitor = Visitor::enter(&server);
    visitor.page("/console/patient/live/local/ann");
    let entries = server.store.audit().newest(None, 10).unwrap();
    let consents = server.store.consents().list(&tabularium::consent::ConsentFilter {
        limit: 10,
        ..Default::default()
    });
    let consent = consents.unwrap().remove(0).consent.id;
    assert_eq!(
        (entries[0].action.as_str(), entries[0].consent.as_deref()),
        ("console.look", Some(consent.as_str()))
    );
    assert!(visitor.page("/console/kept/consents").contains(&consent));
    assert!(visitor.page("/console/kept/applications").contains("local"));
    assert_eq!(visitor.get("/console/kept/secrets").status, 404);
    assert_eq!(visitor.get("/console/kept/erasures/none").status, 404);
}
