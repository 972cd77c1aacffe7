//! The places that report a sync's missing records.

use serde_json::{Value, json};
use tabularium::consent::JobState;
use tabularium::lake::Mode;

use super::super::world::World;
use super::{again, missing, shown};

#[test]
fn what_is_missing_is_said_to_the_operator_and_to_the_application() {
    let world = World::new(1, Mode::Live);
    world
        .payer
        .turn("lakeshore", &json!({"unserved": ["Coverage"], "no_statement": true}));
    world.work();
    let connected = world.synced("lakeshore", 0);
    let before = shown(&world, &connected);
    assert_eq!(before["sync"]["state"], "COMPLETED");
    let issues = &before["syncIssues"];
    assert_eq!(issues["resourceType"], "OperationOutcome");
    let coverage: Vec<&Value> = issues["issue"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|issue| issue["expression"][0] == "Coverage")
        .collect();
    assert!(coverage.iter().any(|issue| {
        issue["severity"] == "warning"
            && issue["code"] == "not-supported"
            && issue["details"]["text"] == "Coverage not served: status 404"
    }));
    let audit = world.audit(&connected).join("\n");
    assert!(
        audit.contains("sync.missing Coverage not served: status 404"),
        "{audit}"
    );
    let data = world.server.folder();
    let listed = crate::commands::service_commands::json(data, &["sync", "list", "--consent", &connected.consent]);
    let job = listed[0]["id"].as_str().unwrap();
    assert_eq!(
        (&listed[0]["state"], &listed[0]["endpoint"]),
        (&json!("COMPLETED"), &json!("lakeshore"))
    );
    let one = crate::commands::service_commands::json(data, &["sync", "show", &job[..8]]);
    assert_eq!(one, listed[0]);
    assert_eq!(
        (&one["attempts"], &one["resourceTypes"]["Patient"]),
        (&json!(1), &json!(1))
    );
    let entry = one["missing"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["reason"] == "not-served");
    let entry = entry.unwrap();
    assert_eq!((&entry["type"], &entry["status"]), (&json!("Coverage"), &json!(404)));
    let said = crate::commands::service_commands::done(data, &["sync", "show", job]);
    assert!(
        said.contains("missing:\n") && said.contains("Coverage not served: status 404"),
        "{said}"
    );
    let said = crate::commands::service_commands::done(data, &["sync", "list"]);
    assert!(said.starts_with("id") && said.contains(job), "{said}");
    let refused = crate::commands::service_commands::run(data, &["sync", "show", "zzz"]);
    assert_eq!(refused.status.code(), Some(2));
    // If nothing is missing, nothing is reported.
    world.payer.turn("lakeshore", &json!({"unserved": []}));
    again(&world, &connected);
    assert_eq!(missing(&world, &connected), []);
    assert!(shown(&world, &connected).get("syncIssues").is_none());
    let said =
        crate::commands::service_commands::done(data, &["sync", "show", &newest(&world, &connected.authorization)]);
    assert!(said.contains("nothing is missing"), "{said}");
}

fn newest(world: &World, authorization: &str) -> String {
    world.store().jobs().of_authorization(authorization).unwrap()[0]
        .id
        .clone()
}

#[test]
fn a_type_that_breaks_off_is_said_and_so_is_a_sync_that_fails() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn(
        "lakeshore",
        &json!({"malformed_every": 1, "malformed": "loop", "page": 3}),
    );
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let issues = shown(&world, &connected)["syncIssues"]["issue"].clone();
    let of_claims = issues
        .as_array()
        .unwrap()
        .iter()
        .find(|issue| issue["expression"][0] == "ExplanationOfBenefit");
    assert_eq!(of_claims.unwrap()["code"], "incomplete");
    let failing = World::new(1, Mode::Live);
    let all = [
        "Coverage",
        "ExplanationOfBenefit",
        "Patient",
        "Condition",
        "Encounter",
        "MedicationRequest",
        "Procedure",
    ];
    failing
        .payer
        .turn("lakeshore", &json!({"unserved": all, "no_statement": true}));
    let connected = failing.connect("lakeshore", 0);
    failing.work();
    assert_eq!(failing.end_of(&connected), JobState::Failed);
    let gaps = missing(&failing, &connected);
    assert!(gaps.iter().any(|one| one.resource_type == "Coverage"), "{gaps:?}");
}
