//! CMS Blue Button's own systems, in claims as it writes them.

use serde_json::{Value, json};

use super::encounters::world;

const VARIABLES: &str = "https://bluebutton.cms.gov/resources/variables";

fn npi(value: &str) -> Value {
    let kind = json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v2-0203", "code": "NPI"}]});
    json!({"identifier": {"type": kind, "value": value}})
}

#[test]
fn a_part_d_event_is_a_prescription() {
    let claim = json!({
        "resourceType": "ExplanationOfBenefit", "id": "pde-1", "status": "active", "use": "claim", "outcome": "complete",
        "identifier": [
            {"system": format!("{VARIABLES}/pde_id"), "value": "1"},
            {"system": format!("{VARIABLES}/rx_srvc_rfrnc_num"), "value": "791569"}
        ],
        "type": {"coding": [
            {"system": "https://bluebutton.cms.gov/resources/codesystem/eob-type", "code": "PDE"},
            {"system": "http://terminology.hl7.org/CodeSystem/claim-type", "code": "pharmacy", "display": "Pharmacy"}
        ]},
        "patient": {"reference": "Patient/-1"}, "created": "2024-03-02T00:00:00+00:00",
        "facility": npi("1111111111"),
        "careTeam": [{"sequence": 1, "provider": npi("2222222222"), "role": {"coding": [{"code": "prescribing"}]}}],
        "supportingInfo": [{
            "sequence": 1, "category": {"coding": [
                {"system": "http://terminology.hl7.org/CodeSystem/claiminformationcategory", "code": "info"},
                {"system": "https://bluebutton.cms.gov/resources/codesystem/information", "code": format!("{VARIABLES}/daw_prod_slctn_cd")}
            ]},
            "code": {"coding": [{"system": format!("{VARIABLES}/daw_prod_slctn_cd"), "code": "0", "display": "No Product Selection Indicated"}]}
        }],
        "insurance": [{"focal": true, "coverage": {"reference": "Coverage/part-d--1"}}],
        "item": [{
            "sequence": 1, "servicedDate": "2024-03-01",
            "productOrService": {"coding": [{"system": "http://hl7.org/fhir/sid/ndc", "code": "00093505698", "display": "Atorvastatin"}]},
            "quantity": {"value": 30.000, "extension": [
                {"url": format!("{VARIABLES}/days_suply_num"), "valueQuantity": {"value": 30}}
            ]}
        }]
    });
    let order = world([claim]).run().only("MedicationRequest");
    let identified = |value: &str| json!({"identifier": {"system": "http://hl7.org/fhir/sid/us-npi", "value": value}});
    assert_eq!(order["requester"], identified("2222222222"));
    assert_eq!(order["dispenseRequest"]["performer"], identified("1111111111"));
    assert_eq!(order["dispenseRequest"]["quantity"], json!({"value": 30.0}));
    assert_eq!(order["dispenseRequest"]["expectedSupplyDuration"]["value"], 30);
    assert_eq!(order["substitution"], json!({"allowedBoolean": true}));
    assert_eq!(order["identifier"][0]["value"], "791569");
    assert_eq!(order["status"], "completed");
}

#[test]
fn an_inpatient_claim_has_its_bill_in_digits() {
    let coded = |name: &str, code: &str| json!({"url": format!("{VARIABLES}/{name}"), "valueCoding": {"code": code}});
    let info = |name: &str| json!({"coding": [{"code": format!("{VARIABLES}/{name}")}]});
    let claim = json!({
        "resourceType": "ExplanationOfBenefit", "id": "inpatient-1", "status": "active", "use": "claim", "outcome": "complete",
        "type": {"coding": [
            {"system": format!("{VARIABLES}/nch_clm_type_cd"), "code": "60"},
            {"system": format!("{VARIABLES}/clm_srvc_clsfctn_type_cd"), "code": "1"},
            {"system": "http://terminology.hl7.org/CodeSystem/claim-type", "code": "institutional"}
        ]},
        "patient": {"reference": "Patient/-1"}, "created": "2024-02-20", "billablePeriod": {"start": "2024-01-15", "end": "2024-01-27"},
        "facility": {"extension": [coded("clm_fac_type_cd", "1")]},
        "contained": [{"resourceType": "Organization", "id": "provider-org", "active": true, "name": "CLARITY HOSPITAL",
            "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "3333333333"}]}],
        "provider": {"reference": "#provider-org"},
        "supportingInfo": [
            {"sequence": 1, "category": info("clm_freq_cd"), "code": {"coding": [{"code": "2"}]}},
            {"sequence": 2, "category": info("ptnt_dschrg_stus_cd"), "code": {"coding": [{"code": "30"}]}},
            {"sequence": 3, "category": info("clm_src_ip_admsn_cd"), "code": {"coding": [{"code": "4"}]}},
        ],
        "diagnosis": [{"sequence": 1, "type": [{"coding": [{"code": "admitting"}]}],
            "diagnosisCodeableConcept": {"coding": [{"system": "http://hl7.org/fhir/sid/icd-10", "code": "A40"}]}}],
        "item": [{"sequence": 1, "revenue": {"coding": [{"code": "0001"}]}, "productOrService": {"coding": [
            {"system": "https://bluebutton.cms.gov/resources/codesystem/hcpcs", "code": "M55"}]}}]
    });
    let made = world([claim]).run();
    let encounter = made.only("Encounter");
    assert_eq!(encounter["status"], "in-progress");
    assert_eq!(encounter["class"]["code"], "IMP");
    assert_eq!(encounter["period"], json!({"start": "2024-01-15"}));
    let hospital = json!({"identifier": {"system": "http://hl7.org/fhir/sid/us-npi", "value": "3333333333"}, "display": "CLARITY HOSPITAL"});
    assert_eq!(encounter["serviceProvider"], hospital);
    assert_eq!(encounter["hospitalization"]["admitSource"]["coding"][0]["code"], "4");
    let condition = made.only("Condition");
    assert_eq!(
        condition["code"]["coding"],
        json!([{"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "A40"}])
    );
    assert_eq!(condition["verificationStatus"]["coding"][0]["code"], "provisional");
}
