//! The console's lists of the service's data, and its entries in the audit log.

use crate::harness::server::Server;

use super::world::{Kept, Visitor, between, pages, records};

#[test]
fn every_look_at_records_is_in_the_log_and_names_nobody() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let kept = Kept::of(&server);
    let before = server.store.audit().newest(None, 1_000).unwrap();
    assert!(
        before
            .iter()
            .any(|entry| entry.action == "console.sign_in" && entry.detail == "by ada")
    );
    for path in pages(&kept) {
        visitor.page(&path);
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
        "rows",
        "view",
        "explain",
        "fhirpath",
        "pdf",
        "summary",
        "summary",
        "everything",
        "everything",
        "patient",
        "patient",
        "resource",
        "resource",
        "table",
    ];
    assert_eq!(looks, expected, "newest first");
    for entry in &entries {
        let said = format!("{entry:?}");
        assert!(
            !said.contains("ann") && !said.contains("Hill") && !said.contains("8480-6"),
            "{said}"
        );
    }
    let page = visitor.page("/console/patient/live/local/ann");
    let mark = between(&page, "<code>person ", "</code>");
    let log = visitor.page("/console/kept/audit");
    let row = log
        .split("<tr>")
        .find(|row| row.contains(&format!("patient: live person {mark}")));
    assert!(row.is_some_and(|row| row.contains("<td>operator ada</td>")), "{log}");
}

/// A search for one person's records was in the log as a look at a type, and an explanation as nothing.
#[test]
fn a_search_for_one_person_names_that_person() {
    let server = Server::imported(&records());
    let visitor = Visitor::enter(&server);
    let patient = visitor.page("/console/patient/live/local/ann");
    let mark = between(&patient, "<code>person ", "</code>").to_owned();
    let newest = || server.store.audit().newest(None, 1).unwrap().remove(0).detail;
    let of_ann = format!("live person {mark}");
    for (path, page) in [
        ("/console/data/live/local/Observation?q=patient%3Dann", "table"),
        (
            "/console/data/live/local/Observation?q=subject%3DPatient%2Fann%26code%3D8480-6",
            "table",
        ),
        ("/console/data/live/local/Patient?q=_id%3Dann", "table"),
        (
            "/console/explain/live/local?type=Observation&q=patient%3Dann",
            "explain",
        ),
    ] {
        visitor.page(path);
        assert_eq!(newest(), format!("{page} by ada: {of_ann}"), "{path}");
    }
    for (path, expected) in [
        (
            "/console/data/live/local/Observation?q=_count%3D5",
            "table by ada: live Observation",
        ),
        (
            "/console/data/live/local/Observation?q=patient%3Dann%2Cben",
            "table by ada: live Observation",
        ),
        (
            "/console/explain/live/local?type=Observation&q=code%3D8480-6",
            "explain by ada: live Observation",
        ),
    ] {
        visitor.page(path);
        assert_eq!(newest(), expected, "{path}");
    }
    // The text in the place of a type may be anything, and is not logged.
    visitor.get("/console/fhirpath/live/local?type=Hill&expression=id");
    visitor.get("/console/explain/live/local?type=Hill&q=");
    assert_eq!(newest(), "explain by ada: live Observation");
}

/// Lists ended after 200 rows without a word.
#[test]
fn long_lists_come_in_pages_that_say_so() {
    let server = Server::imported(&records());
    for _ in 0..450 {
        server.store.console_sessions().make_token("bob").unwrap();
    }
    let visitor = Visitor::enter(&server);
    let (mut path, mut rows, mut told) = ("/console/kept/audit".to_owned(), 0, Vec::new());
    loop {
        let page = visitor.page(&path);
        rows += page.matches("<tr><td>").count();
        told.push(between(&page, "<p role=\"status\">", "</p>").to_owned());
        let next = page.split("<a ").find(|link| link.contains(">Next page</a>"));
        let Some(next) = next else { break };
        path = between(next, "href=\"", "\"").to_owned();
    }
    let all = server.store.audit().newest(None, 10_000).unwrap().len();
    assert_eq!((rows, told.len()), (all, 3));
    assert_eq!(told[0], "Rows 1 to 200; more follow.");
    assert!(
        told[2].starts_with("Rows 401 to ") && told[2].ends_with(", the last ones."),
        "{told:?}"
    );
    for page in ["0", "51", "x", "-1", "99999999999999999999"] {
        assert_eq!(
            visitor.get(&format!("/console/kept/audit?page={page}")).status,
            404,
            "{page}"
        );
    }
    assert!(
        visitor
            .page("/console/kept/audit?page=50")
            .contains("There are no more rows.")
    );
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

/// The list said that a command tells the rest.
#[test]
fn a_sync_and_a_consent_have_pages_that_link_to_each_other() {
    let server = Server::imported(&records());
    let kept = Kept::of(&server);
    let visitor = Visitor::enter(&server);
    let (consent, sync) = (
        format!("/console/kept/consents/{}", kept.consent),
        format!("/console/kept/syncs/{}", kept.sync),
    );
    let list = visitor.page("/console/kept/syncs");
    assert!(
        list.contains(&format!("href=\"{sync}\"")) && list.contains(&format!("href=\"{consent}\"")),
        "{list}"
    );
    let said = between(&list, "<p role=\"status\">", "</p>");
    assert_eq!(said, "1 row");
    let page = visitor.page(&sync);
    for part in [
        "<dt>Source</dt><dd>payer</dd>",
        "<dt>State</dt><dd>CREATED</dd>",
        "<dt>Cause</dt><dd>exchange</dd>",
        "The sync is not over.",
        &format!("href=\"{consent}\""),
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = visitor.page(&consent);
    for part in [
        "<dt>Application</dt><dd>portal</dd>",
        "<td>payer</td>",
        &format!("href=\"{sync}\""),
        "href=\"/console/patient/test/portal/",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for path in ["/console/kept/syncs/none", "/console/kept/consents/none"] {
        assert_eq!(visitor.get(path).status, 404, "{path}");
    }
    // The first letters of an id are not the id.
    assert_eq!(visitor.get(&sync[..sync.len() - 1]).status, 404);
}

/// Times broke in two, and were to the second.
#[test]
fn times_can_be_read_and_are_exact() {
    let server = Server::imported(&records());
    let page = Visitor::enter(&server).page("/console/kept/audit");
    let time = between(&page, "<time ", "</time>");
    let (exact, shown) = (between(time, "datetime=\"", "\""), time.split('>').nth(1).unwrap());
    assert!(exact.len() == 20 && exact.ends_with('Z'), "{time}");
    assert!(shown.ends_with(" UTC") && shown.contains(", "), "{time}");
}
