//! What pages themselves show to be missing is told by type and reason, in every place, and nothing else is lost.

use serde_json::{Value, json};
use tabularium::consent::{JobState, MissingReason};
use tabularium::lake::Mode;

use super::super::rogue::{ALL, bundle, condition, connect, found, settings, source, synced};
use super::super::world::{Connected, World};
use super::missing;
use crate::harness::rogue::Said;

/// Syncs from a source whose Conditions come as this text.
fn synced_from(page: String) -> (World, Connected) {
    synced(&source(move |_, _| Said::text("application/fhir+json", &page)), ALL)
}

fn page_with(entry: &str) -> String {
    let whole = bundle(&[condition("a"), condition("b")], None).to_string();
    whole.replacen("\"entry\":[", &format!("\"entry\":[{entry},"), 1)
}

#[test]
fn what_a_page_shows_to_be_missing_is_told_and_the_others_are_stored() {
    let failed =
        r#"{"resourceType":"OperationOutcome","issue":[{"severity":"error","code":"timeout","diagnostics":"SECRET"}]}"#;
    for (entry, reason, told) in [
        ("null".to_owned(), MissingReason::NotTaken, "not taken: 1 record (it cannot be read)"),
        (
            r#"{"resource":{"resourceType":"Condition","id":7}}"#.to_owned(),
            MissingReason::NotTaken,
            "not taken: 1 record (it cannot be read)",
        ),
        (
            r#"{"resource":{"resourceType":"Condition","id":"c","subject":{"reference":"Patient/p"},"code":{"text":"\ud83d"}}}"#
                .to_owned(),
            MissingReason::NotTaken,
            "not taken: 1 records (not JSON",
        ),
        (r#"{"fullUrl":"urn:x"}"#.to_owned(), MissingReason::Failed, "left out: 1 entry without a resource"),
        (
            r#"{"response":{"status":"403 Forbidden"}}"#.to_owned(),
            MissingReason::Forbidden,
            "left out: 1 entry with status 403",
        ),
        (
            format!(r#"{{"response":{{"status":"500"}},"resource":{failed}}}"#),
            MissingReason::Failed,
            "left out: 1 entry with status 500",
        ),
        (
            format!(r#"{{"resource":{failed},"search":{{"mode":"outcome"}}}}"#),
            MissingReason::Failed,
            "incomplete: the source reported an error beside the records (timeout)",
        ),
    ] {
        let (world, connected) = synced_from(page_with(&entry));
        assert_eq!(found(&world, "Condition", &connected).len(), 2, "{entry}");
        let gaps = missing(&world, &connected);
        let [gap] = gaps.as_slice() else { panic!("{entry}: {gaps:?}") };
        assert_eq!((gap.resource_type.as_str(), gap.reason), ("Condition", reason), "{entry}");
        assert!(gap.detail.starts_with(told), "{entry}: {}", gap.detail);
        assert!(!world.audit(&connected).join("\n").contains("SECRET"));
    }
}

#[test]
fn a_total_that_is_not_met_is_told() {
    let mut whole = bundle(&[condition("a"), condition("b")], None);
    whole["total"] = json!(70);
    let (world, connected) = synced_from(whole.to_string());
    let gaps = missing(&world, &connected);
    assert_eq!(
        gaps[0].detail,
        "incomplete: the source counts 68 records more than it gave"
    );
    assert_eq!((gaps.len(), gaps[0].records), (1, Some(68)));
}

#[test]
fn a_next_relation_is_read_whatever_its_case() {
    let rogue = source(|asked, base| {
        if asked.path.contains("page=2") {
            return Said::json(&bundle(&[condition("b")], None));
        }
        let mut first = bundle(
            &[condition("a")],
            Some(&format!("{base}/fhir/Condition?patient=p&page=2")),
        );
        first["link"][0]["relation"] = json!("NEXT");
        Said::json(&first)
    });
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Condition", &connected).len(), 2);
    assert_eq!(missing(&world, &connected), []);
}

#[test]
fn when_nothing_can_be_read_it_is_not_said_that_there_are_no_records() {
    for (patient, told) in [
        (Said::status(406), "the source gave no records: "),
        (
            Said::text(
                "application/json",
                r#"{"resourceType":"Patient","id":"p","name":[{"family":"\ud83d"}]}"#,
            ),
            "not JSON",
        ),
    ] {
        let rogue = crate::harness::rogue::Rogue::start(move |asked, _| match asked.path.split('?').next().unwrap() {
            "/fhir/metadata" => Said::status(404),
            "/fhir/Patient/p" => patient.clone(),
            _ => Said::status(406),
        });
        let world = World::new(1, Mode::Live);
        let connected = connect(&world, &rogue, ALL);
        world.work_at(settings());
        assert_eq!(world.end_of(&connected), JobState::Failed);
        let jobs = world.store().jobs().of_authorization(&connected.authorization).unwrap();
        let failure = jobs[0].failure.clone().unwrap();
        assert!(
            failure.contains(told) && !failure.contains("has no records"),
            "{failure}"
        );
    }
}

#[test]
fn an_application_is_told_where_it_reads() {
    let mut whole = bundle(&[condition("a"), condition("b"), condition("c")], None);
    whole["total"] = json!(5);
    let (world, connected) = synced_from(whole.to_string());
    let get = |path: &str| {
        let answer = world.get(path, &connected.token);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    };
    let remarks = |answer: &Value| -> Vec<Value> {
        let entries = answer["entry"].as_array().cloned().unwrap_or_default();
        entries
            .into_iter()
            .filter(|entry| entry["search"]["mode"] == "outcome")
            .collect()
    };
    let first = get("/fhir/Condition?_count=2&_total=accurate");
    let [remark] = remarks(&first).try_into().unwrap();
    assert_eq!(first["entry"].as_array().unwrap().last().unwrap(), &remark);
    assert_eq!(first["total"], 3);
    let issue = &remark["resource"]["issue"][0];
    assert_eq!(
        (&issue["severity"], &issue["code"]),
        (&json!("warning"), &json!("incomplete"))
    );
    assert_eq!(issue["expression"][0], "Condition");
    assert!(
        issue["details"]["text"]
            .as_str()
            .unwrap()
            .contains("2 records more than it gave"),
        "{issue}"
    );
    // Only the first page has it, by whatever link.
    let link = |relation: &str| {
        let links = first["link"].as_array().unwrap();
        let one = links.iter().find(|link| link["relation"] == relation).unwrap();
        let url = one["url"].as_str().unwrap();
        url[url.find("/fhir").unwrap()..].to_owned()
    };
    assert!(remarks(&get(&link("next"))).is_empty());
    assert_eq!(remarks(&get(&link("first"))).len(), 1);
    assert!(remarks(&get("/fhir/Condition?_summary=count")).is_empty());
    // Other types have none, and answers over several types have it once.
    assert!(remarks(&get("/fhir/Patient")).is_empty());
    assert_eq!(remarks(&get("/fhir?_type=Condition,Patient")).len(), 1);
    assert!(remarks(&get("/fhir?_type=Patient")).is_empty());
    assert_eq!(remarks(&get("/fhir/Patient/$PATIENT_ID/$everything")).len(), 1);
    assert!(remarks(&get("/fhir/Patient/$PATIENT_ID/$everything?_type=Patient")).is_empty());
}
