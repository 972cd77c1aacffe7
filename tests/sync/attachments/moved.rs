//! A service restarted with another address, and the command line's output about attachments.

use serde_json::{Value, json};
use tabularium::lake::Lake;

use super::world::{KINDS, again, ask, attachment, path, record_path, text, world};
use crate::harness::lake::files_below;
use crate::harness::server::Server;

const MOVED: &str = "https://moved.example";

#[test]
fn a_service_at_another_address_leads_to_its_own_binaries() {
    let world = world(1, &json!({}));
    let own = world.synced("riverbend", 0);
    world.rest();
    let folder = tempfile::tempdir().unwrap();
    for file in files_below(world.server.folder()) {
        let copy = folder.path().join(file.strip_prefix(world.server.folder()).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(&file, copy).unwrap();
    }
    let lake = Lake::open(folder.path()).unwrap();
    let server = Server::at(folder, lake, MOVED);
    let token = server.application_token();
    for kind in KINDS {
        let path = path(&world, &own, kind);
        let record = server.get(&record_path(&world, &own, kind), &token).json();
        let url = text(attachment(&record), "url").to_owned();
        assert_eq!(url, format!("{MOVED}{path}"), "{kind}");
        let (_, _, before) = ask(&world, "GET", &path, &own.token, &[]);
        let authorization = format!("Bearer {token}");
        let headers = [("authorization", authorization.as_str())];
        let (status, _, after) = server.send_bytes("GET", &path, &headers, &[]);
        assert_eq!((status, after), (200, before), "{kind}");
        if kind != "html" {
            let found = server.get(&format!("/fhir/DocumentReference?location={url}"), &token);
            assert_eq!(found.json()["entry"][0]["resource"]["id"], record["id"], "{kind}");
        }
    }
    let found = server.get("/fhir/Binary?_count=1", &token).json();
    let address = text(&found["entry"][0], "fullUrl");
    assert!(address.starts_with(&format!("{MOVED}/fhir/Binary/")), "{address}");
}

#[test]
fn sync_show_says_what_came_of_attachments() {
    let world = world(1, &json!({}));
    let own = world.synced("riverbend", 0);
    world.store().clock().advance(60);
    again(&world, &own);
    let jobs = world.store().jobs().of_authorization(&own.authorization).unwrap();
    let mut said: Vec<String> = Vec::new();
    let mut counted: Vec<Value> = Vec::new();
    for job in &jobs {
        let shown = crate::commands::service_commands::json(world.server.folder(), &["sync", "show", &job.id]);
        counted.push(shown["attachments"].clone());
        let shown = crate::commands::service_commands::done(world.server.folder(), &["sync", "show", &job.id]);
        let line = shown.lines().find(|line| line.starts_with("attachments: "));
        said.push(line.unwrap_or_else(|| panic!("{shown}")).to_owned());
    }
    said.sort();
    assert_eq!(
        said,
        [
            "attachments: 5 fetched, 1 left at the source, 2 missing",
            "attachments: 5 kept, 1 left at the source, 2 missing",
        ]
    );
    counted.sort_by_key(|counts| counts["kept"].as_u64());
    let counts = |fetched, kept| json!({"fetched": fetched, "kept": kept, "atSource": 1, "missing": 2});
    assert_eq!(counted, [counts(5, 0), counts(0, 5)]);
}
