//! MedicationRequest from pharmacy claims.

use std::borrow::Cow;

use serde_json::{Value, json};
use tabularium::normalize::{Codes, Concept};

use super::super::world::{BASE, World, concept};
use crate::harness::{excerpt, shared};

const NDC: &str = "http://hl7.org/fhir/sid/ndc";
const PROZAC: &str = "Prozac, 100 CAPSULE in 1 BOTTLE (0777-3105-02) (package)";

#[test]
fn a_pharmacy_claim_of_carin_is_a_prescription() {
    let mut world = World::of(&excerpt(), &["carin/ig-2.0.0/ExplanationOfBenefit-EOBPharmacy1.json"]);
    // Filled on 2019-07-02 for 30 days: the last covered day is 2019-07-31.
    world.today = "2019-07-31";
    let expected = json!({
        "status": "active",
        "intent": "order",
        "reportedBoolean": true,
        "medicationCodeableConcept": concept(NDC, "00777310502", PROZAC),
        "subject": {"reference": "Patient/Patient2"},
        "supportingInformation": [{"reference": "ExplanationOfBenefit/EOBPharmacy1"}],
        "authoredOn": "2019-07-02",
        "requester": {"display": "Undefined by source"},
        "insurance": [{"reference": "Coverage/Coverage1"}],
        "dispenseRequest": {
            "numberOfRepeatsAllowed": 0,
            "expectedSupplyDuration": {"value": 30, "unit": "days", "system": "http://unitsofmeasure.org", "code": "d"},
            "performer": {"reference": "Organization/ProviderOrganization1", "display": "XXX Health Plan"}
        },
        "substitution": {"allowedCodeableConcept": {"text": "Dispense as written code 7"}}
    });
    assert_eq!(world.run().only("MedicationRequest"), expected);
    world.today = "2019-08-01";
    assert_eq!(world.run().only("MedicationRequest")["status"], "completed");
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_primary_member_of_the_care_team_asked_for_it() {
    let data = shared().join("data");
    let made = World::of(&data, &["carin/inferno/carin_bundle_patient_888.json"]).run();
    let order = made.only("MedicationRequest");
    assert_eq!(
        order["requester"],
        json!({"reference": "Practitioner/c4bb-Practitioner"})
    );
    assert_eq!(
        order["dispenseRequest"]["quantity"],
        json!({"value": 2, "unit": "services"})
    );
    // The only detail repeats the product, so it is not a compound.
    assert_eq!(order["medicationCodeableConcept"], concept(NDC, "00777310502", PROZAC));
}

#[test]
fn profile_tags_and_provenance_say_what_it_is_and_where_it_comes_from() {
    let made = World::of(&excerpt(), &["carin/ig-2.0.0/ExplanationOfBenefit-EOBPharmacy1.json"]).run();
    let order = &made.whole("MedicationRequest")[0];
    let tags = json!([
        {"system": format!("{BASE}/EndpointId"), "code": "a"},
        {"system": format!("{BASE}/GeneratedBy"), "code": "MedicationRequest"}
    ]);
    let us_core = |name: &str| format!("http://hl7.org/fhir/us/core/StructureDefinition/us-core-{name}");
    let meta = |profile| json!({"profile": [us_core(profile)], "tag": tags});
    assert_eq!(order["meta"], meta("medicationrequest"));
    let provenance = &made.whole("Provenance")[0];
    assert_eq!(provenance["meta"], meta("provenance"));
    let expected = json!({
        "target": [{"reference": "MedicationRequest/00777310502"}],
        "recorded": "2026-11-23T00:00:00Z",
        "agent": [{
            "type": super::super::world::hl7("provenance-participant-type", "assembler", "Assembler"),
            "who": {"display": "Tabularium"}
        }],
        "entity": [{"role": "source", "what": {"reference": "ExplanationOfBenefit/EOBPharmacy1"}}]
    });
    assert_eq!(made.only("Provenance"), expected);
}

/// A pharmacy claim: id, day, NDC.
pub(crate) fn fill(id: &str, day: &str, ndc: &str) -> Value {
    json!({
        "resourceType": "ExplanationOfBenefit", "id": id, "status": "active", "use": "claim", "outcome": "complete",
        "type": {"coding": [{"system": "http://terminology.hl7.org/CodeSystem/claim-type", "code": "pharmacy"}]},
        "patient": {"reference": "Patient/p"}, "created": day, "insurer": {"display": "x"},
        "provider": {"reference": "Organization/pharmacy"},
        "careTeam": [{"sequence": 1, "provider": {"reference": "Practitioner/doctor"}, "role": {"coding": [{"code": "prescribing"}]}}],
        "insurance": [{"focal": true, "coverage": {"reference": "Coverage/c"}}],
        "item": [{"sequence": 1, "productOrService": {"coding": [{"system": NDC, "code": ndc}]}, "servicedDate": day}]
    })
}

fn numbered(id: &str, day: &str, number: &str) -> Value {
    let mut claim = fill(id, day, "00777-3105-02");
    claim["identifier"] =
        json!([{"system": "https://bluebutton.cms.gov/resources/variables/rx_srvc_rfrnc_num", "value": number}]);
    claim
}

fn world(claims: impl IntoIterator<Item = Value>) -> World<'static> {
    let mut world = World::default();
    claims.into_iter().for_each(|claim| world.put(0, claim));
    world
}

#[test]
fn fills_with_one_number_at_one_pharmacy_are_one_prescription() {
    let mut other = numbered("4", "2024-03-01", "77");
    other["provider"] = json!({"reference": "Organization/other"});
    let claims = [
        numbered("2", "2024-02-01", "77"),
        numbered("1", "2023-01-01", "77"),
        numbered("3", "2024-02-01", "78"),
        other,
    ];
    let orders = world(claims).run().of("MedicationRequest");
    let mut claims: Vec<String> = orders
        .iter()
        .map(|order| order["supportingInformation"].to_string())
        .collect();
    claims.sort();
    assert_eq!(
        claims,
        [
            r#"[{"reference":"ExplanationOfBenefit/1"},{"reference":"ExplanationOfBenefit/2"}]"#,
            r#"[{"reference":"ExplanationOfBenefit/3"}]"#,
            r#"[{"reference":"ExplanationOfBenefit/4"}]"#,
        ]
    );
    let first = orders
        .iter()
        .find(|order| order["supportingInformation"][1].is_object())
        .unwrap();
    assert_eq!(first["authoredOn"], "2023-01-01");
    assert_eq!(
        first["status"], "unknown",
        "no claim tells for how many days the drug lasts"
    );
    let system = "https://bluebutton.cms.gov/resources/variables/rx_srvc_rfrnc_num";
    assert_eq!(first["identifier"], json!([{"system": system, "value": "77"}]));
}

#[test]
fn without_a_number_drug_and_prescriber_tell_and_a_gap_ends_it() {
    let mut nobody = fill("5", "2024-01-01", "00777-3105-30");
    nobody["careTeam"] = json!([]);
    let claims = [
        fill("1", "2024-01-01", "00777-3105-02"),
        // The same product in another package, 180 days later.
        fill("2", "2024-06-29", "00777-3105-30"),
        // The same product, 181 days later.
        fill("3", "2024-12-27", "00777-3105-02"),
        fill("4", "2024-01-01", "00777-3106-02"),
        nobody,
    ];
    let orders = world(claims).run().of("MedicationRequest");
    let mut fills: Vec<usize> = orders
        .iter()
        .map(|order| order["supportingInformation"].as_array().unwrap().len())
        .collect();
    fills.sort_unstable();
    assert_eq!(fills, [1, 1, 1, 2]);
}

#[test]
fn cancelled_fills_make_none() {
    let mut cancelled = numbered("1", "2024-01-01", "1");
    cancelled["status"] = "cancelled".into();
    let mut wrong = numbered("2", "2024-02-01", "1");
    wrong["status"] = "entered-in-error".into();
    assert_eq!(world([cancelled, wrong]).run().counts().len(), 0);
}

#[test]
fn a_claim_without_a_known_type_is_a_pharmacys_if_it_has_drugs_alone() {
    let mut claim = fill("1", "2024-01-01", "00777-3105-02");
    claim["type"] = json!({"text": "Rx"});
    assert_eq!(world([claim.clone()]).run().of("MedicationRequest").len(), 1);
    claim["item"][0]["productOrService"]["coding"] =
        json!([{"system": "http://www.ama-assn.org/go/cpt", "code": "99213"}]);
    assert_eq!(world([claim]).run().counts().len(), 0);
}

#[test]
fn a_compound_lists_its_ingredients() {
    let mut claim = fill("1", "2024-01-01", "x");
    let literal = "http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBCompoundLiteral";
    let part = |code: &str, display: &str| json!({"productOrService": {"coding": [{"system": NDC, "code": code, "display": display}]}});
    claim["item"] = json!([{
        "sequence": 1, "servicedDate": "2024-01-01", "productOrService": {"coding": [{"system": literal, "code": "compound"}]},
        "detail": [part("11111-2222-33", "Estriol"), part("11111-2222-44", "Base cream")]
    }]);
    let order = world([claim]).run().only("MedicationRequest");
    let expected = json!({
        "coding": [
            {"system": NDC, "code": "11111222233", "display": "Estriol"},
            {"system": NDC, "code": "11111222244", "display": "Base cream"}
        ],
        "text": "Compound of Estriol, Base cream"
    });
    assert_eq!(order["medicationCodeableConcept"], expected);
}

/// A source's order for a drug by a prescriber.
fn order(drug: Value, authored: &str) -> Value {
    json!({
        "resourceType": "MedicationRequest", "id": "own", "status": "active", "intent": "order",
        "subject": {"reference": "Patient/p"}, "medicationCodeableConcept": {"coding": [drug]}, "authoredOn": authored,
        "requester": {"reference": "Practitioner/doctor"},
    })
}

#[test]
fn a_sources_own_order_gains_the_claims() {
    let drug = json!({"system": NDC, "code": "00777310530"});
    let mut world = world([fill("1", "2024-01-31", "00777-3105-02")]);
    world.put(0, order(drug.clone(), "2024-01-01"));
    let made = world.run();
    assert_eq!(made.counts().len(), 0);
    let mark = json!({"url": format!("{BASE}/StructureDefinition/normalized"), "valueCode": "MedicationRequest"});
    let claim = json!({"extension": [mark], "reference": "ExplanationOfBenefit/1"});
    assert_eq!(
        made.additions("MedicationRequest", "own"),
        [("supportingInformation", claim.clone())]
    );

    // Additions of an earlier run are made again. The source's own values are not additions.
    let mut again = order(drug.clone(), "2024-01-01");
    again["supportingInformation"] = json!([claim]);
    world.records[1].1 = again.clone();
    assert_eq!(world.run().additions("MedicationRequest", "own").len(), 1);
    again["supportingInformation"] = json!([{"reference": "ExplanationOfBenefit/1"}]);
    world.records[1].1 = again;
    assert_eq!(world.run().additions("MedicationRequest", "own"), []);

    // With 31 days between them it is another prescription.
    world.records[1].1 = order(drug, "2023-12-31");
    assert_eq!(world.run().of("MedicationRequest").len(), 1);
}

#[test]
fn orders_of_another_source_are_known_by_npi_and_by_number() {
    let doctor = |id: &str| {
        json!({
            "resourceType": "Practitioner", "id": id,
            "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}]
        })
    };
    let drug = json!({"system": NDC, "code": "00777310530"});
    let mut own = order(drug.clone(), "2024-01-01");
    own["requester"] = json!({"reference": "Practitioner/theirs"});
    own["subject"] = json!({"reference": "Patient/q"});
    let mut world = world([fill("1", "2024-01-05", "00777-3105-02"), doctor("doctor")]);
    world.put(1, doctor("theirs"));
    world.put(1, own.clone());
    let made = world.run();
    assert_eq!(made.counts().len(), 0);
    assert_eq!(made.additions("MedicationRequest", "own").len(), 1);

    own["authoredOn"] = "2020-01-01".into();
    own["identifier"] =
        json!([{"system": "https://bluebutton.cms.gov/resources/variables/rx_srvc_rfrnc_num", "value": "9"}]);
    world.records[0].1 = numbered("1", "2024-01-05", "9");
    world.records[3].1 = own;
    assert_eq!(world.run().counts().len(), 0);
}

#[test]
fn a_prescription_that_the_claim_names_gains_the_claim() {
    let mut claim = fill("1", "2024-01-31", "00777-3105-02");
    claim["prescription"] = json!({"reference": "MedicationRequest/own"});
    let mut world = world([claim]);
    world.put(0, order(json!({"text": "?"}), "2001-01-01"));
    let made = world.run();
    assert_eq!(made.counts().len(), 0);
    assert_eq!(made.additions("MedicationRequest", "own").len(), 1);
}

struct Drugs;

impl Codes for Drugs {
    fn display(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn rxnorm(&self, ndc: &str) -> Option<Concept<'_>> {
        (ndc == "00777310502").then(|| Concept {
            code: "104849".into(),
            display: Some("fluoxetine 20 MG Oral Capsule [Prozac]".into()),
        })
    }

    fn ingredients(&self, ndc: &str) -> Vec<String> {
        match ndc {
            "00777310502" | "65862019301" => vec!["4493".to_owned()],
            _ => Vec::new(),
        }
    }

    fn knows_ndc(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn the_terminology_adds_rxnorm_and_knows_ingredients() {
    // The brand and the generic have the same ingredient.
    let mut world = world([
        fill("1", "2024-01-31", "00777-3105-02"),
        fill("2", "2024-01-01", "65862-0193-01"),
    ]);
    world.codes = &Drugs;
    let order = world.run().only("MedicationRequest");
    let name = "fluoxetine 20 MG Oral Capsule [Prozac]";
    let expected = json!({
        "coding": [
            {"system": NDC, "code": "00777310502"},
            {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "104849", "display": name}
        ],
        "text": name
    });
    assert_eq!(order["medicationCodeableConcept"], expected);
    assert_eq!(order["requester"], json!({"reference": "Practitioner/doctor"}));
}
