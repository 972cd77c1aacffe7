//! InsurancePlan from Medicare Advantage Coverage.

use serde_json::{Value, json};
use tabularium::normalize::{Area, Contact, PlanFacts, Plans, Premium};

use super::super::world::{BASE, World, concept};
use crate::harness::shared;

const EXTENSION: &str = "http://hl7.org/fhir/5.0/StructureDefinition/extension-Coverage.insurancePlan";
const VARIABLES: &str = "https://bluebutton.cms.gov/resources/variables";

fn coverage(id: &str) -> Value {
    json!({
        "resourceType": "Coverage", "id": id, "status": "active", "beneficiary": {"reference": "Patient/p"},
        "period": {"start": "2024-01-01", "end": "2024-12-31"},
        "payor": [{"reference": "Organization/payer"}]
    })
}

fn classed(id: &str, value: &str) -> Value {
    let mut coverage = coverage(id);
    let system = "http://terminology.hl7.org/CodeSystem/coverage-class";
    coverage["class"] =
        json!([{"type": {"coding": [{"system": system, "code": "plan"}]}, "value": value, "name": "Gold Advantage"}]);
    coverage
}

fn world(records: impl IntoIterator<Item = Value>) -> World<'static> {
    let mut world = World::default();
    records.into_iter().for_each(|record| world.put(0, record));
    world
}

fn plan() -> Value {
    let product = "http://hl7.org/fhir/us/davinci-pdex-plan-net/CodeSystem/InsuranceProductTypeCS";
    json!({
        "identifier": [{"system": format!("{BASE}/CmsPlanId"), "value": "H1234-001"}],
        "status": "active",
        "type": [concept(product, "mediadv", "Medicare Advantage")],
        "name": "Gold Advantage",
        "period": {"start": "2024-01-01", "end": "2024-12-31"},
        "ownedBy": {"reference": "Organization/payer"}
    })
}

#[test]
fn a_contract_in_a_class_is_a_plan_and_the_coverage_refers_to_it() {
    let world = world([classed("1", "H1234-001"), classed("2", "H1234-001")]);
    let made = world.run();
    assert_eq!(made.only("InsurancePlan"), plan());
    // It meets no profile, because a Coverage lacks the networks that Plan-Net requires.
    assert!(made.whole("InsurancePlan")[0]["meta"].get("profile").is_none());
    let id = &made.whole("InsurancePlan")[0]["id"];
    let mark = json!({"url": format!("{BASE}/StructureDefinition/normalized"), "valueCode": "InsurancePlan"});
    let value = json!({"extension": [mark], "reference": format!("InsurancePlan/{}", id.as_str().unwrap())});
    let extension = json!({"url": EXTENSION, "valueReference": value});
    for id in ["1", "2"] {
        assert_eq!(made.additions("Coverage", id), [("extension", extension.clone())]);
    }
    assert_eq!(made.of("Provenance").len(), 2);

    // A later run sees what an earlier one added. The source's own values stay.
    let mut seen = classed("1", "H1234-001");
    seen["extension"] = json!([extension]);
    assert_eq!(self::world([seen.clone()]).run().of("InsurancePlan").len(), 1);
    seen["extension"][0]["valueReference"] = json!({"reference": "InsurancePlan/own"});
    assert_eq!(self::world([seen]).run().counts().len(), 0);
}

#[test]
fn a_contract_is_read_wherever_it_stands() {
    let mut by_identifier = coverage("1");
    by_identifier["identifier"] = json!([{"system": "https://payer.example/plan", "value": "R5826-003-000"}]);
    let mut by_months = coverage("2");
    let month = |name: &str, code: &str| json!({"url": format!("{VARIABLES}/{name}"), "valueCoding": {"code": code}});
    by_months["extension"] = json!([
        {"url": format!("{VARIABLES}/rfrnc_yr"), "valueDate": "2023"},
        month("ptc_cntrct_id_01", "H1225"), month("ptc_pbp_id_01", "001"),
        month("ptc_cntrct_id_02", "H3312"), month("ptc_pbp_id_02", "7"),
        month("ptc_cntrct_id_12", "0"),
        month("ptdcntrct03", "E9999")
    ]);
    let mut split = classed("3", "005");
    split["identifier"] = json!([{"value": "H7777"}]);
    let plans = world([by_identifier, by_months, split]).run().of("InsurancePlan");
    let ids: Vec<String> = plans
        .iter()
        .map(|plan| format!("{} {}", plan["identifier"][0]["value"], plan["period"]["start"]))
        .collect();
    let expected = [
        r#""H3312-007" "2023-01-01""#,
        r#""H7777-005" "2024-01-01""#,
        r#""R5826-003-000" "2024-01-01""#,
    ];
    let mut ids = ids;
    ids.sort();
    assert_eq!(ids, expected);
}

#[test]
fn part_d_and_other_coverages_have_none() {
    let mut part_d = coverage("1");
    part_d["identifier"] =
        json!([{"system": "https://payer.example/part-d", "value": "H1234"}, {"value": "S5601-001"}]);
    part_d["class"] = json!([{"type": {"coding": [{"code": "rxgroup"}]}, "value": "H1234"}]);
    let mut cancelled = classed("2", "H1234-001");
    cancelled["status"] = "cancelled".into();
    assert_eq!(
        world([part_d, cancelled, classed("3", "XYZ123")]).run().counts().len(),
        0
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn carins_coverages_name_no_contract() {
    let shared = shared();
    for file in super::super::world::files(&shared.join("data/carin")) {
        let mut world = World::default();
        world.file(&file);
        assert_eq!(world.run().of("InsurancePlan").len(), 0, "{}", file.display());
    }
}

#[test]
fn an_open_end_leaves_the_year_of_the_start() {
    let mut open = classed("1", "H1234-001");
    open["period"] = json!({"start": "2024-03-01", "end": "9999-12-31"});
    assert_eq!(
        world([open.clone()]).run().only("InsurancePlan")["period"]["start"],
        "2024-01-01"
    );
    open["period"] = json!({"start": "2023-03-01", "end": "2024-06-30"});
    assert_eq!(
        world([open]).run().only("InsurancePlan")["period"]["start"],
        "2024-01-01"
    );
}

fn area(state: &str, county: Option<&str>) -> Area {
    Area {
        state: state.to_owned(),
        county: county.map(str::to_owned),
    }
}

struct Table;

impl Plans for Table {
    fn plan(&self, contract: &str, plan: Option<&str>, segment: Option<&str>, year: Option<i32>) -> Option<PlanFacts> {
        let known = (contract, plan, segment, year) == ("H1234", Some("001"), None, Some(2024));
        known.then(|| PlanFacts {
            name: Some("Gold Advantage (HMO)".to_owned()),
            aliases: vec!["gold advantage".to_owned(), "Gold Plan".to_owned()],
            organization: Some("Example Health".to_owned()),
            areas: vec![area("IL", Some("Cook")), area("WI", None)],
            premium: Some(Premium {
                total: Some("25.50".to_owned()),
                part_c: Some("30.00".to_owned()),
                part_d: Some("-4.50".to_owned()),
            }),
            contact: Some(Contact {
                name: Some("Ann Example".to_owned()),
                phone: Some("1-800-555-0100".to_owned()),
                city: Some("Springfield".to_owned()),
                state: Some("IL".to_owned()),
                ..Contact::default()
            }),
            ..PlanFacts::default()
        })
    }
}

#[test]
fn the_plan_table_gives_name_area_premium_and_contact() {
    let mut world = world([classed("1", "H1234-001")]);
    world.plans = &Table;
    let mut expected = plan();
    expected["name"] = "Gold Advantage (HMO)".into();
    // The name in the Coverage and in other publications of CMS.
    expected["alias"] = json!(["Gold Advantage", "Gold Plan"]);
    expected["ownedBy"] = json!({"reference": "Organization/payer", "display": "Example Health"});
    let area = concept(
        "http://terminology.hl7.org/CodeSystem/location-physical-type",
        "area",
        "Area",
    );
    expected["contained"] = json!([
        {"resourceType": "Location", "id": "area-1", "name": "Cook, IL", "physicalType": area,
         "address": {"district": "Cook", "state": "IL", "country": "US"}},
        {"resourceType": "Location", "id": "area-2", "name": "Wisconsin", "physicalType": area,
         "address": {"state": "WI", "country": "US"}}
    ]);
    expected["coverageArea"] = json!([
        {"reference": "#area-1", "display": "Cook, IL"}, {"reference": "#area-2", "display": "Wisconsin"}
    ]);
    let purpose = concept(
        "http://terminology.hl7.org/CodeSystem/contactentity-type",
        "ADMIN",
        "Administrative",
    );
    expected["contact"] = json!([{
        "purpose": purpose, "name": {"text": "Ann Example"},
        "telecom": [{"system": "phone", "value": "1-800-555-0100"}],
        "address": {"city": "Springfield", "state": "IL"}
    }]);
    let cost = |name: &str, value: f64| json!({"type": {"text": name}, "cost": {"value": value, "currency": "USD"}});
    expected["plan"] = json!([{"generalCost": [
        cost("Monthly premium", 25.5), cost("Monthly premium of Part C", 30.0), cost("Monthly premium of Part D", -4.5)
    ]}]);
    assert_eq!(world.run().only("InsurancePlan"), expected);
}
