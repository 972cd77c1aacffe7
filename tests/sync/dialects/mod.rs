//! Real sources' dialects, simulated by the sandbox. A sync fetches everything or reports what is missing.

mod alike;
mod bases;
mod count;
mod cut;
mod denied;
mod entries;
mod forbidden;
mod ids;
mod linked;
mod links;
mod losses;
mod narrower;
mod nothing;
mod provenance;
mod readable;
mod retried;
mod since;
mod told;
mod unlisted;

use serde_json::Value;
use tabularium::consent::{JobState, Missing, MissingReason};

use super::world::{Connected, World, text};

/// The missing records of a person's newest sync and its retries.
fn missing(world: &World, connected: &Connected) -> Vec<Missing> {
    let full = world.store().consents().full(&connected.consent).unwrap().unwrap();
    full.sources.into_iter().next().unwrap().missing
}

/// The types, parts and reasons of what is missing.
fn named(missing: &[Missing]) -> Vec<(&str, Option<&str>, MissingReason)> {
    missing
        .iter()
        .map(|one| (one.resource_type.as_str(), one.part.as_deref(), one.reason))
        .collect()
}

/// Syncs again.
fn again(world: &World, connected: &Connected) {
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(connected), JobState::Completed);
}

/// The number of a type's records at a source.
fn at_source(world: &World, organization: &str, connected: &Connected, resource_type: &str) -> u64 {
    let records = world.record_of(organization, connected);
    records
        .iter()
        .filter(|one| text(one, "resourceType") == resource_type)
        .count() as u64
}

/// Checks that all records of a source are stored, and that none is reported missing.
fn assert_whole(world: &World, organization: &str, connected: &Connected) {
    assert_eq!(missing(world, connected), [], "{organization}");
    let source = world.record_of(organization, connected);
    let here = world.rows(connected);
    let ids: Vec<&str> = here.iter().map(|((_, _, _, id), _)| id.as_str()).collect();
    for record in &source {
        let (resource_type, id) = (text(record, "resourceType"), text(record, "id"));
        let ours = world.lake().synced_id(connected.owner, organization, resource_type, id);
        assert!(ids.contains(&ours.as_str()), "{resource_type}/{id} is not here");
    }
    assert_eq!(here.len(), source.len());
}

/// A person's authorization as the REST API shows it.
fn shown(world: &World, connected: &Connected) -> Value {
    let answer = world.get("/rest/consent", &connected.token);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["patientAuthorizations"][0].clone()
}
