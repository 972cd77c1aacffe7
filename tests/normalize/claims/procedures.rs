//! Procedure from claims.

use serde_json::{Value, json};

use super::super::world::{World, concept};
use super::encounters::{bill, service, world};
use crate::harness::shared;

const CPT: &str = "http://www.ama-assn.org/go/cpt";

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn procedures_of_a_stay_of_carin() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBInpatient2.json"]).run();
    let expected = |code: &str| {
        json!({
            "status": "completed",
            "code": {"coding": [{"system": "http://www.cms.gov/Medicare/Coding/ICD10", "code": code}]},
            "subject": {"reference": "Patient/Patient1"},
            "encounter": {"reference": "Encounter/2017-05-23"},
            "performedDateTime": "2017-05-23",
            "performer": [{"actor": {"reference": "Practitioner/Practitioner2"}}]
        })
    };
    assert_eq!(made.of("Procedure"), ["4A023N7", "B211YZZ", "B215YZZ"].map(expected));
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn lines_of_carin_with_equal_code_day_and_performer_are_one() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBProfessional2.json"]).run();
    let expected = |code: &str| {
        json!({
            "status": "completed",
            "code": {"coding": [{"system": CPT, "code": code}]},
            "subject": {"reference": "Patient/Patient1"},
            "encounter": {"reference": "Encounter/2020-08-04"},
            "performedDateTime": "2020-08-04",
            "performer": [{"actor": {"reference": "Organization/ProviderOrganization1"}}]
        })
    };
    assert_eq!(made.of("Procedure"), ["37228", "75710"].map(expected));
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn dental_procedures_of_carin_have_their_site() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/ig-2.0.0/ExplanationOfBenefit-EOBOral2.json"]).run();
    let dentist = json!({"reference": "Practitioner/PractitionerDentalProvider1", "display": "XXX Dental Plan"});
    let area = "http://terminology.hl7.org/CodeSystem/ADAAreaOralCavitySystem";
    let expected = json!({
        "status": "completed",
        "code": concept("http://www.ada.org/cdt", "D0220", "Intraoral - periapical first radiographic image"),
        "subject": {"reference": "Patient/Patient2"},
        "encounter": {"reference": "Encounter/2021-10-28"},
        "performedDateTime": "2021-10-28",
        "performer": [{"actor": dentist}],
        "bodySite": [concept(area, "10", "Upper right quadrant")]
    });
    assert_eq!(made.only("Procedure"), expected);
}

#[test]
fn a_denied_line_is_unknown_and_modifiers_are_text() {
    let mut claim = service("1", "2024-01-01", "11", "20610");
    let adjudication =
        |code: &str, amount: u32| json!({"category": {"coding": [{"code": code}]}, "amount": {"value": amount}});
    claim["item"][0]["modifier"] = json!([{"coding": [{"code": "RT"}]}, {"coding": [{"code": "59"}]}]);
    claim["item"][0]["adjudication"] = json!([
        adjudication("submitted", 100),
        adjudication("denialreason", 0),
        adjudication("benefit", 0)
    ]);
    let procedure = world([claim.clone()]).run().only("Procedure");
    assert_eq!(procedure["status"], "unknown");
    assert_eq!(procedure["code"]["text"], "20610 (modifiers: 59, RT)");
    claim["item"][0]["adjudication"][2] = adjudication("benefit", 40);
    assert_eq!(world([claim]).run().only("Procedure")["status"], "completed");
}

#[test]
fn what_is_no_procedure_gives_none() {
    for code in [
        "99213", "80053", "J1100", "90686", "A0428", "G8427", "1036F", "E0470", "G0103", "G0480", "P3001",
    ] {
        let claim = service("1", "2024-01-01", "11", code);
        assert_eq!(world([claim]).run().of("Procedure"), Vec::<Value>::new(), "{code}");
    }
}

#[test]
fn a_sources_procedure_is_kept_alone() {
    let own = |day: &str| {
        json!({
            "resourceType": "Procedure", "id": "own", "status": "completed", "subject": {"reference": "Patient/p"},
            "code": {"coding": [{"system": CPT, "code": "20610"}]}, "performedDateTime": day
        })
    };
    let mut world = world([service("1", "2024-01-01", "11", "20610"), own("2024-01-01T10:00:00Z")]);
    assert_eq!(world.run().of("Procedure").len(), 0);
    world.records[1].1 = own("2024-01-02");
    assert_eq!(world.run().of("Procedure").len(), 1);
}

#[test]
fn a_period_of_several_days_is_a_period() {
    let mut claim = bill("1", "0131", "2024-01-01", "2024-01-03");
    claim["item"][0]["productOrService"] = json!({"coding": [{"system": CPT, "code": "95951"}]});
    let procedure = world([claim]).run().only("Procedure");
    assert_eq!(
        procedure["performedPeriod"],
        json!({"start": "2024-01-01", "end": "2024-01-03"})
    );
}

/// US Core requires the time of a completed procedure. A claim without any day used to give none.
#[test]
fn a_procedure_without_a_day_says_that_the_source_has_none() {
    let mut claim = service("1", "2024-03-01", "11", "11042");
    claim.as_object_mut().unwrap().remove("billablePeriod");
    claim["item"][0].as_object_mut().unwrap().remove("servicedDate");
    let procedure = world([claim]).run().only("Procedure");
    assert_eq!(procedure["status"], "completed");
    assert_eq!(procedure["performedString"], "Undefined by source");
}
