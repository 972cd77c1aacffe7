//! Allergies, problems and past illness.

use serde_json::{Value, json};

use super::harness::{Person, concept, record};

const SNOMED: &str = "http://snomed.info/sct";
const ICD: &str = "http://hl7.org/fhir/sid/icd-10-cm";

fn status(system: &str, code: &str) -> Value {
    json!({"coding": [{"system": format!("http://terminology.hl7.org/CodeSystem/{system}"), "code": code}]})
}

fn allergy(id: &str, code: &str, clinical: &str, verification: &str) -> Value {
    let more = json!({
        "code": concept(SNOMED, code, &format!("Allergy {code}")),
        "clinicalStatus": status("allergyintolerance-clinical", clinical),
        "verificationStatus": status("allergyintolerance-verification", verification),
    });
    record("AllergyIntolerance", id, more)
}

fn condition(id: &str, code: &str, clinical: Option<&str>, more: Value) -> Value {
    let mut record = record("Condition", id, more);
    if record.get("code").is_none() {
        record["code"] = concept(SNOMED, code, &format!("Problem {code}"));
    }
    if let Some(clinical) = clinical {
        record["clinicalStatus"] = status("condition-clinical", clinical);
    }
    record
}

/// A diagnosis generated from a claim, and its encounter.
fn made(person: Person, id: &str, code: &str, day: &str, verification: &str) -> Person {
    let more = json!({
        "meta": {"tag": [{"system": "https://records.example/tags/GeneratedBy", "code": "Condition"}]},
        "code": concept(ICD, code, &format!("Diagnosis {code}")),
        "verificationStatus": status("condition-ver-status", verification),
        "encounter": {"reference": format!("Encounter/e{id}")},
    });
    let encounter = json!({"period": {"start": day}, "status": "finished"});
    person
        .with(record("Condition", id, more))
        .with(record("Encounter", &format!("e{id}"), encounter))
}

#[test]
fn allergies_that_are_over_or_refuted_are_left_out() {
    let person = Person::new()
        .with(allergy("a", "1", "active", "confirmed"))
        .with(allergy("b", "2", "inactive", "confirmed"))
        .with(allergy("c", "3", "resolved", "confirmed"))
        .with(allergy("d", "4", "active", "refuted"))
        .with(allergy("e", "5", "active", "entered-in-error"))
        .with(allergy("f", "6", "active", "unconfirmed"));
    let summary = person.summary();
    assert_eq!(summary.names("allergies"), ["Allergy 1", "Allergy 6"]);
    assert_eq!(summary.entries("allergies").len(), 2);
}

#[test]
fn of_an_allergy_that_two_sources_know_the_one_that_tells_the_most_is_kept() {
    let mut severe = allergy("old", "1", "active", "confirmed");
    severe["recordedDate"] = json!("2001-01-01");
    severe["criticality"] = json!("high");
    severe["category"] = json!(["food"]);
    severe["onsetDateTime"] = json!("1999");
    severe["reaction"] = json!([{"manifestation": [{"text": "Hives"}, {"text": "Asthma"}], "severity": "severe"}]);
    let mut plain = allergy("new", "1", "active", "confirmed");
    plain["recordedDate"] = json!("2020-01-01");
    let summary = Person::new().with(plain).with(severe).summary();
    let row = [
        "Allergy 1",
        "food",
        "high",
        "Hives, Asthma (severe)",
        "confirmed",
        "1999",
        "2001-01-01",
    ];
    assert_eq!(summary.rows("allergies"), [row]);
}

#[test]
fn no_known_allergy_is_said_only_where_none_is_known() {
    let none = || allergy("none", "716186003", "active", "confirmed");
    let alone = Person::new().with(none()).summary();
    assert_eq!(alone.names("allergies"), ["Allergy 716186003"]);
    let both = Person::new()
        .with(none())
        .with(allergy("a", "1", "active", "confirmed"))
        .summary();
    assert_eq!(both.names("allergies"), ["Allergy 1"]);
}

#[test]
fn problems_are_active_and_past_illness_is_over() {
    let refuted = json!({"verificationStatus": status("condition-ver-status", "refuted")});
    let wrong = json!({"verificationStatus": status("condition-ver-status", "entered-in-error")});
    let ended = json!({"abatementDateTime": "2011-02-03"});
    let summary = Person::new()
        .with(condition(
            "a",
            "1",
            Some("active"),
            json!({"recordedDate": "2020-01-06"}),
        ))
        .with(condition(
            "b",
            "2",
            Some("recurrence"),
            json!({"recordedDate": "2020-01-05"}),
        ))
        .with(condition(
            "c",
            "3",
            Some("relapse"),
            json!({"recordedDate": "2020-01-04"}),
        ))
        .with(condition("d", "4", None, json!({"recordedDate": "2020-01-03"})))
        .with(condition(
            "e",
            "5",
            Some("inactive"),
            json!({"recordedDate": "2020-01-02"}),
        ))
        .with(condition(
            "f",
            "6",
            Some("resolved"),
            json!({"recordedDate": "2020-01-01"}),
        ))
        .with(condition("g", "7", Some("remission"), json!({})))
        .with(condition("h", "8", Some("active"), refuted))
        .with(condition("i", "9", None, wrong))
        .with(condition("j", "10", None, ended))
        .summary();
    assert_eq!(
        summary.names("problems"),
        ["Problem 1", "Problem 2", "Problem 3", "Problem 4"]
    );
    assert_eq!(
        summary.names("pastillness"),
        ["Problem 5", "Problem 6", "Problem 7", "Problem 10"]
    );
}

#[test]
fn of_a_problem_with_one_code_the_latest_is_kept() {
    let both = json!({"recordedDate": "2019", "code": {"coding": [
        {"system": SNOMED, "code": "1"}, {"system": ICD, "code": "I10"}], "text": "Hypertension"}});
    let summary = Person::new()
        .with(condition(
            "a",
            "1",
            Some("active"),
            json!({"recordedDate": "2010-01-01"}),
        ))
        .with(condition("b", "1", Some("active"), both))
        .with(condition(
            "c",
            "",
            Some("active"),
            json!({"code": concept(ICD, "I10", "High blood pressure")}),
        ))
        .with(condition(
            "d",
            "1",
            Some("resolved"),
            json!({"recordedDate": "2012-01-01"}),
        ))
        .summary();
    assert_eq!(summary.names("problems"), ["Hypertension"]);
    assert_eq!(summary.names("pastillness"), ["Problem 1"]);
}

#[test]
fn a_diagnosis_from_claims_is_a_problem_only_if_it_is_repeated() {
    let person = Person::new().with(condition(
        "own",
        "9",
        Some("active"),
        json!({"recordedDate": "2001-01-01"}),
    ));
    let person = made(person, "a", "E11.9", "2020-01-01", "confirmed");
    let person = made(person, "b", "E11.9", "2020-12-01", "confirmed");
    let person = made(person, "c", "J45.909", "2020-01-01", "confirmed");
    let person = made(person, "d", "J45.909", "2021-02-01", "confirmed");
    let person = made(person, "e", "N18.3", "2020-01-01", "provisional");
    let person = made(person, "f", "N18.3", "2020-02-01", "provisional");
    let person = made(person, "g", "Z00.00", "2020-01-01", "confirmed");
    let person = made(person, "h", "Z00.00", "2020-02-01", "confirmed");
    let person = made(person, "i", "W19.XXXA", "2020-01-01", "confirmed");
    let person = made(person, "j", "W19.XXXA", "2020-02-01", "confirmed");
    let summary = person.summary();
    assert_eq!(summary.names("problems"), ["Problem 9", "Diagnosis E11.9"]);
    assert_eq!(summary.entries("problems")[1]["id"], "b");
}

#[test]
fn two_diagnoses_of_one_encounter_are_one() {
    let person = made(Person::new(), "a", "E11.9", "2020-01-01", "confirmed");
    let mut again: Value = serde_json::from_str(&person.records[1].0).unwrap();
    again["id"] = json!("again");
    assert_eq!(person.with(again).summary().empty("problems"), Some("unavailable"));
}

#[test]
fn what_a_source_says_of_a_problem_goes_before_claims() {
    let person = made(Person::new(), "a", "E11.9", "2020-01-01", "confirmed");
    let person = made(person, "b", "E11.9", "2020-12-01", "confirmed");
    let own = json!({"code": concept(ICD, "E11.9", "Diabetes"), "recordedDate": "2015-01-01"});
    let summary = person.with(condition("own", "", Some("resolved"), own)).summary();
    assert_eq!(summary.empty("problems"), Some("unavailable"));
    assert_eq!(summary.names("pastillness"), ["Diabetes"]);
}
