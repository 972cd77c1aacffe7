//! Encounter from claims.

use serde_json::{Value, json};

use super::super::world::{World, hl7};
use crate::harness::{excerpt, shared};

const CPT: &str = "http://www.ama-assn.org/go/cpt";

fn class(code: &str, display: &str) -> Value {
    json!({"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": code, "display": display})
}

fn part(code: &str, display: &str) -> Value {
    hl7("v3-ParticipationType", code, display)
}

fn diagnosis(code: &str, role: &str, display: &str) -> Value {
    json!({"condition": {"reference": format!("Condition/{code}")}, "use": hl7("diagnosis-role", role, display)})
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn an_inpatient_claim_of_carin_is_a_stay() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBInpatient2.json"]).run();
    let expected = json!({
        "status": "finished",
        "class": class("IMP", "inpatient encounter"),
        "type": [{"coding": [{"system": CPT, "code": "99231"}]}],
        "subject": {"reference": "Patient/Patient1"},
        "participant": [{
            "type": [part("ATND", "attender"), part("REF", "referrer")],
            "individual": {"reference": "Practitioner/Practitioner2"}
        }],
        "period": {"start": "2017-05-23", "end": "2017-05-23"},
        "diagnosis": [
            diagnosis("I21.4", "DD", "Discharge diagnosis"),
            diagnosis("I25.118", "CM", "Comorbidity diagnosis"),
            diagnosis("E78.5", "CM", "Comorbidity diagnosis"),
            diagnosis("M19.90", "CM", "Comorbidity diagnosis")
        ],
        "serviceProvider": {"reference": "Organization/ProviderOrganization3"}
    });
    assert_eq!(made.only("Encounter"), expected);
}

#[test]
fn origin_and_discharge_are_the_stays_hospitalization() {
    let made = World::of(&excerpt(), &["carin/ig-2.0.0/ExplanationOfBenefit-EOBInpatient1.json"]).run();
    let encounter = made.only("Encounter");
    // The stay is the admission period of 2011, not the billable period of 2019.
    assert_eq!(encounter["period"], json!({"start": "2011-05-23", "end": "2011-05-25"}));
    let expected = json!({
        "admitSource": {"coding": [{"system": "https://www.nubc.org/CodeSystem/PointOfOrigin", "code": "Dummy"}]},
        "dischargeDisposition": {"coding": [{"system": "https://www.nubc.org/CodeSystem/PatDischargeStatus", "code": "11"}]}
    });
    assert_eq!(encounter["hospitalization"], expected);
    assert_eq!(encounter["type"], json!([{"text": "Institutional"}]));
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn an_outpatient_claim_of_carin_is_a_visit() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBOutpatient2.json"]).run();
    let expected = json!({
        "status": "finished",
        "class": class("AMB", "ambulatory"),
        "type": [{"coding": [{"system": CPT, "code": "99231"}]}],
        "subject": {"reference": "Patient/Patient1"},
        "participant": [
            {"type": [part("ATND", "attender")], "individual": {"reference": "Practitioner/Practitioner1"}},
            {"type": [part("REF", "referrer")], "individual": {"reference": "Practitioner/Practitioner3"}}
        ],
        "period": {"start": "2020-09-29", "end": "2020-09-29"},
        "diagnosis": [
            diagnosis("I95.1", "CM", "Comorbidity diagnosis"),
            diagnosis("I95.1", "billing", "Billing"),
            diagnosis("L97.529", "CM", "Comorbidity diagnosis"),
            diagnosis("I73.9", "CM", "Comorbidity diagnosis")
        ],
        "serviceProvider": {"reference": "Organization/ProviderOrganization5"}
    });
    assert_eq!(made.only("Encounter"), expected);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_professional_claim_of_carin_is_a_visit_at_its_place() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBProfessional2.json"]).run();
    let expected = json!({
        "status": "finished",
        // It is an inpatient hospital, but no stay of the consent covers the day.
        "class": class("IMP", "inpatient encounter"),
        "type": [{"text": "Professional"}],
        "subject": {"reference": "Patient/Patient1"},
        "participant": [{"type": [part("REF", "referrer")], "individual": {"reference": "Practitioner/Practitioner1"}}],
        "period": {"start": "2020-08-04", "end": "2020-08-04"},
        "diagnosis": [diagnosis("I70.249", "billing", "Billing"), diagnosis("L97.929", "CM", "Comorbidity diagnosis")],
        "serviceProvider": {"reference": "Organization/ProviderOrganization1"}
    });
    assert_eq!(made.only("Encounter"), expected);
}

#[test]
fn an_oral_claim_of_carin_is_a_visit_without_conditions() {
    let made = World::of(&excerpt(), &["carin/ig-2.0.0/ExplanationOfBenefit-EOBOral1.json"]).run();
    let dentist = json!({"reference": "Practitioner/PractitionerDentalProvider1", "display": "XXX Dental Plan"});
    let expected = json!({
        "status": "finished",
        "class": class("AMB", "ambulatory"),
        "type": [{"text": "Oral"}],
        "subject": {"reference": "Patient/Patient2"},
        "participant": [{"type": [part("PPRF", "primary performer")], "individual": dentist}],
        "period": {"start": "2021-03-18", "end": "2021-03-18"},
        "serviceProvider": {"reference": "Organization/ProviderOrganization1"}
    });
    assert_eq!(made.only("Encounter"), expected);
    assert_eq!(made.of("Condition").len(), 0);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn an_ambulance_is_in_the_field() {
    let data = shared().join("data");
    let file = "carin/ig-2.0.0/ExplanationOfBenefit-EOBProfessionalTransportation1.json";
    let made = World::of(&data, &[file]).run();
    let encounter = made.only("Encounter");
    assert_eq!(encounter["class"], class("FLD", "field"));
    assert_eq!(
        encounter["serviceProvider"],
        json!({"reference": "Organization/ProviderTransportationOrganization1"})
    );
    assert_eq!(made.of("Procedure").len(), 0, "transport is no procedure");
}

/// An institutional claim: id, type of bill, first and last day.
pub(crate) fn bill(id: &str, bill: &str, from: &str, to: &str) -> Value {
    let info = |category: &str, rest: Value| {
        let mut info = rest;
        info["category"] = json!({"coding": [{"code": category}]});
        info
    };
    json!({
        "resourceType": "ExplanationOfBenefit", "id": id, "status": "active", "use": "claim", "outcome": "complete",
        "type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/claim-type", "code": "institutional"}]},
        "patient": {"reference": "Patient/p"}, "created": to, "provider": {"reference": "Organization/hospital"},
        "billablePeriod": {"start": from, "end": to},
        "supportingInfo": [
            info("typeofbill", json!({"sequence": 1, "code": {"coding": [{"code": bill}]}})),
        ],
        "diagnosis": [{"sequence": 1, "diagnosisCodeableConcept": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "I10"}]}}],
        "item": [{"sequence": 1, "revenue": {"coding": [{"code": "0120"}]}, "servicedPeriod": {"start": from, "end": to},
            "productOrService": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/data-absent-reason", "code": "not-applicable"}]}}]
    })
}

/// A professional claim of one line: id, day, place of service, code.
pub(crate) fn service(id: &str, day: &str, place: &str, code: &str) -> Value {
    let mut claim = bill(id, "", day, day);
    claim["type"]["coding"][0]["code"] = "professional".into();
    claim["provider"] = json!({"reference": "Practitioner/doctor"});
    claim["supportingInfo"] = json!([]);
    claim["item"] = json!([{
        "sequence": 1, "servicedDate": day, "locationCodeableConcept": {"coding": [{"code": place}]},
        "productOrService": {"coding": [{"system": CPT, "code": code}]}
    }]);
    claim
}

pub(crate) fn world(records: impl IntoIterator<Item = Value>) -> World<'static> {
    let mut world = World::default();
    records.into_iter().for_each(|record| world.put(0, record));
    world
}

fn summary(world: &World<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for encounter in world.run().of("Encounter") {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let (start, end) = (text(&encounter["period"]["start"]), text(&encounter["period"]["end"]));
        lines.push(format!(
            "{} {} {start} {end}",
            text(&encounter["class"]["code"]),
            text(&encounter["status"])
        ));
    }
    lines.sort();
    lines
}

#[test]
fn claims_whose_periods_meet_are_one_stay() {
    let claims = [
        bill("1", "0112", "2024-01-01", "2024-01-31"),
        bill("2", "0114", "2024-02-01", "2024-02-10"),
        // Two days later it is another stay.
        bill("3", "0111", "2024-02-12", "2024-02-13"),
        // A physician's visit in the hospital, and one elsewhere.
        service("4", "2024-01-15", "21", "99232"),
        service("5", "2024-01-15", "11", "99213"),
        // Part B services during the stay and after it.
        bill("6", "0121", "2024-01-05", "2024-01-06"),
        bill("7", "0121", "2024-03-05", "2024-03-05"),
    ];
    assert_eq!(
        summary(&world(claims)),
        [
            "AMB finished 2024-01-15 2024-01-15",
            "AMB finished 2024-03-05 2024-03-05",
            "IMP finished 2024-01-01 2024-02-10",
            "IMP finished 2024-02-12 2024-02-13",
        ]
    );
}

#[test]
fn an_interim_bill_without_discharge_goes_on() {
    let mut discharged = bill("2", "0113", "2024-03-01", "2024-03-31");
    let status = json!({"category": {"coding": [{"code": "discharge-status"}]}, "code": {"coding": [{"code": "01"}]}});
    discharged["supportingInfo"].as_array_mut().unwrap().push(status);
    let claims = [bill("1", "0112", "2024-01-01", "2024-01-31"), discharged];
    assert_eq!(
        summary(&world(claims)),
        ["IMP finished 2024-03-01 2024-03-31", "IMP in-progress 2024-01-01 -"]
    );
}

#[test]
fn classes_follow_bill_revenue_and_place() {
    let mut emergency = bill("1", "0131", "2024-01-01", "2024-01-01");
    emergency["item"][0]["revenue"] = json!({"coding": [{"code": "0450"}]});
    let mut respite = bill("2", "0811", "2024-02-01", "2024-02-28");
    respite["item"][0]["revenue"] = json!({"coding": [{"code": "0655"}]});
    let claims = [
        emergency,
        respite,
        bill("3", "0329", "2024-03-01", "2024-03-30"),
        bill("4", "0821", "2024-04-01", "2024-04-30"),
        service("5", "2024-05-01", "23", "99283"),
        service("6", "2024-05-02", "10", "99213"),
    ];
    assert_eq!(
        summary(&world(claims)),
        [
            "EMER finished 2024-01-01 2024-01-01",
            "EMER finished 2024-05-01 2024-05-01",
            "HH finished 2024-03-01 2024-03-30",
            "HH finished 2024-04-01 2024-04-30",
            "IMP finished 2024-02-01 2024-02-28",
            "VR finished 2024-05-02 2024-05-02",
        ]
    );
}

#[test]
fn each_day_at_a_facility_is_a_visit() {
    let mut claim = bill("1", "0131", "2024-01-01", "2024-01-31");
    let line = |day: &str| json!({"sequence": 1, "servicedDate": day, "productOrService": {"coding": [{"system": CPT, "code": "97110"}]}});
    claim["item"] = json!([line("2024-01-02"), line("2024-01-09"), line("2024-01-09")]);
    let expected = [
        "AMB finished 2024-01-02 2024-01-02",
        "AMB finished 2024-01-09 2024-01-09",
    ];
    assert_eq!(summary(&world([claim])), expected);
}

#[test]
fn supplies_equipment_and_laboratories_are_no_visit() {
    let mut tests = service("1", "2024-01-01", "11", "80053");
    let chair = service("2", "2024-01-01", "12", "E0470");
    let reading = service("3", "2024-01-01", "81", "88305");
    let mut equipment = service("4", "2024-01-01", "12", "99213");
    equipment["type"]["coding"] =
        json!([{"system": "https://bluebutton.cms.gov/resources/codesystem/eob-type", "code": "DME"}]);
    let mut lines = bill("5", "0141", "2024-01-01", "2024-01-01");
    lines["item"][0]["revenue"] = json!({"coding": [{"code": "0301"}]});
    assert_eq!(
        world([tests.clone(), chair, reading, equipment, lines])
            .run()
            .counts()
            .len(),
        0
    );
    // A visit besides the tests.
    let visit = service("1", "2024-01-01", "11", "99213")["item"][0].clone();
    tests["item"].as_array_mut().unwrap().push(visit);
    assert_eq!(world([tests]).run().of("Encounter").len(), 1);
}

#[test]
fn a_sources_encounter_of_the_day_and_provider_is_the_visit() {
    let own = |class: &str, start: &str, end: &str| {
        json!({
            "resourceType": "Encounter", "id": "own", "status": "finished", "class": {"code": class},
            "subject": {"reference": "Patient/q"}, "period": {"start": start, "end": end},
            "participant": [{"individual": {"identifier": {"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}}}]
        })
    };
    let doctor = json!({
        "resourceType": "Practitioner", "id": "doctor",
        "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}]
    });
    let mut world = world([service("1", "2024-01-01", "11", "75710"), doctor]);
    world.put(1, own("AMB", "2024-01-01T08:00:00Z", "2024-01-01T09:00:00Z"));
    let made = world.run();
    assert_eq!(made.of("Encounter").len(), 0);
    assert_eq!(
        made.only("Condition")["encounter"],
        json!({"reference": "Encounter/own"})
    );
    assert_eq!(
        made.only("Procedure")["encounter"],
        json!({"reference": "Encounter/own"})
    );

    world.records[2].1 = own("AMB", "2024-01-02T08:00:00Z", "2024-01-02T09:00:00Z");
    assert_eq!(world.run().of("Encounter").len(), 1);
    let mut cancelled = own("AMB", "2024-01-01T08:00:00Z", "2024-01-01T09:00:00Z");
    cancelled["status"] = "cancelled".into();
    world.records[2].1 = cancelled;
    assert_eq!(world.run().of("Encounter").len(), 1);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn syntheas_claims_name_their_encounters() {
    let data = shared().join("data");
    let mut claims = 0;
    for folder in ["synthea", "synthea-2021"] {
        for file in super::super::world::files(&data.join(folder)) {
            let mut world = World::default();
            world.file(&file);
            claims += world
                .records
                .iter()
                .filter(|(_, record)| record["resourceType"] == "ExplanationOfBenefit")
                .count();
            let made = world.run();
            // Every claim refers to an Encounter, its diagnoses are Conditions, and its codes are SNOMED CT's and
            // CVX's.
            assert_eq!(made.counts().len(), 0, "{}", file.display());
        }
    }
    assert_eq!(claims, 445);
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn authorizations_are_no_claims() {
    let data = shared().join("data");
    let made = World::of(&data, &["pdex/ig-2.2.0/ExplanationOfBenefit-PDexPriorAuth1.json"]).run();
    assert_eq!(made.counts().len(), 0);
}
