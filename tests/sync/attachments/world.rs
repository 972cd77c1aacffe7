//! People with documents of all kinds, and requests for these.

use std::path::PathBuf;

use serde_json::{Value, json};
use tabularium::consent::JobState;
use tabularium::lake::Mode;
use tabularium::sync::{Settings, SyncLimits};

use crate::harness::lake::files_below;
use crate::sync::world::pace;
pub(super) use crate::sync::world::{Connected, World, text};

/// The size limit of an attachment in these tests.
pub(super) const MOST: u64 = 64 << 10;
pub(super) const KINDS: [&str; 5] = ["pdf", "text", "html", "rtf", "ccda"];

/// People with documents of all kinds.
pub(super) fn world(people: u64, changes: &Value) -> World {
    documented(World::new(people, Mode::Live), changes)
}

/// The same with signed addresses.
pub(super) fn signing_world(people: u64) -> World {
    documented(World::signing(people), &json!({}))
}

fn documented(world: World, changes: &Value) -> World {
    world.payer.turn(
        "riverbend",
        &json!({"attachments": ["all"], "attachment_bytes": 2 * MOST}),
    );
    world.payer.turn("riverbend", changes);
    work(&world);
    world
}

pub(super) fn work(world: &World) {
    let limits = SyncLimits {
        attachment: MOST,
        ..SyncLimits::default()
    };
    world.work_at(Settings {
        limits,
        pace: pace(),
        ..Settings::default()
    });
}

/// The path of the record that refers to a document.
pub(super) fn record_path(world: &World, connected: &Connected, kind: &str) -> String {
    let content_type = if kind == "html" {
        "DiagnosticReport"
    } else {
        "DocumentReference"
    };
    let id = format!("{}-{kind}", connected.source_patient);
    format!(
        "/fhir/{content_type}/{}",
        world.lake().synced_id(connected.owner, "riverbend", content_type, &id)
    )
}

/// The record that refers to a document, as the service returns it.
pub(super) fn record(world: &World, connected: &Connected, kind: &str) -> Value {
    let answer = world.get(&record_path(world, connected, kind), &connected.token);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

pub(super) fn attachment(record: &Value) -> &Value {
    match &record["presentedForm"][0] {
        Value::Null => &record["content"][0]["attachment"],
        attachment => attachment,
    }
}

/// The path of a document's Binary.
pub(super) fn path(world: &World, connected: &Connected, kind: &str) -> String {
    let record = record(world, connected, kind);
    let url = text(attachment(&record), "url").to_owned();
    let path = url.strip_prefix(&world.base_url());
    path.unwrap_or_else(|| panic!("{url} is not the service's")).to_owned()
}

/// The document's bytes at the source.
pub(super) fn at_source(world: &World, connected: &Connected, kind: &str) -> String {
    let id = format!("{}-{kind}", connected.source_patient);
    let place = match kind {
        "html" => format!("files/{id}.html"),
        "ccda" => format!("files/{id}.xml"),
        _ => format!("Binary/{id}"),
    };
    let url = format!("{}/{place}", world.payer.fhir_base("riverbend"));
    let reply = world.payer.get(&url, Some(&connected.source_token));
    assert_eq!(reply.status, 200);
    reply.text
}

/// Requests a path with headers. Returns status, headers and bytes.
pub(super) fn ask(
    world: &World,
    method: &str,
    path: &str,
    token: &str,
    headers: &[(&str, &str)],
) -> (u16, ureq::http::HeaderMap, Vec<u8>) {
    let token = format!("Bearer {token}");
    let headers = [&[("authorization", token.as_str())], headers].concat();
    world.server.send_bytes(method, path, &headers, &[])
}

pub(super) fn again(world: &World, connected: &Connected) {
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(connected), JobState::Completed);
}

/// The newest sync's audit entry about attachments.
pub(super) fn said(world: &World, connected: &Connected) -> String {
    let lines = world.audit(connected);
    let line = lines.iter().find(|line| line.contains("attachments: "));
    line.map_or("", |line| line.split("attachments: ").nth(1).unwrap())
        .to_owned()
}

pub(super) fn files(world: &World) -> Vec<PathBuf> {
    let files = files_below(&world.server.folder().join("data")).into_iter();
    files
        .filter(|path| path.to_string_lossy().ends_with(".attachment"))
        .collect()
}
