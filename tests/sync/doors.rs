//! Visibility of synced rows: the consent's patient and the application in live mode see them, and nobody else does by
//! any API.

use serde_json::json;
use tabularium::lake::Mode;

use super::world::{World, text};

#[test]
fn another_patients_records_are_behind_no_door() {
    let world = World::working(2);
    let (ours, theirs) = (world.synced("lakeshore", 0), world.synced("lakeshore", 1));
    let foreign = world.rows(&theirs);
    let own = world.rows(&ours);
    assert!(!foreign.is_empty() && !own.is_empty());
    for (identity, _) in &foreign {
        let (resource_type, id) = (identity.2, &identity.3);
        assert_eq!(
            world.get(&format!("/fhir/{resource_type}/{id}"), &ours.token).status,
            404
        );
        let found = world.get(&format!("/fhir/{resource_type}?_id={id}&_total=accurate"), &ours.token);
        assert_eq!(found.json()["total"], json!(0), "{resource_type}/{id}");
    }
    for path in [
        format!("/fhir/Coverage?beneficiary=Patient/{}", theirs.patient),
        format!("/fhir/ExplanationOfBenefit?patient={}", theirs.patient),
        format!(
            "/fhir/ExplanationOfBenefit?patient.identifier={}",
            theirs.source_patient
        ),
        format!("/fhir/Patient?_has:Coverage:beneficiary:_id={}", foreign[0].0.3),
        format!("/fhir/Patient/{}/Coverage", theirs.patient),
        format!("/fhir/Patient/{}/$everything", theirs.patient),
        format!("/fhir/Patient/{}/$summary", theirs.patient),
    ] {
        let answer = world.get(&path, &ours.token);
        let none = answer.status == 404 || answer.json()["total"].as_u64().unwrap_or(0) == 0;
        assert!(
            none && answer.json()["entry"].as_array().is_none_or(Vec::is_empty),
            "{path}: {}",
            answer.text
        );
    }
    // All shown rows, including includes, belong to the caller.
    let mut next =
        Some("/fhir/?_type=Patient,Coverage,ExplanationOfBenefit,Organization,Practitioner&_count=100".to_owned());
    let mut shown = 0;
    while let Some(path) = next.take() {
        let page = world.get(&path, &ours.token).json();
        for entry in page["entry"].as_array().into_iter().flatten() {
            let id = entry["resource"]["id"].as_str().unwrap();
            assert!(own.iter().any(|(identity, _)| identity.3 == id), "{id}");
            shown += 1;
        }
        let links = page["link"].as_array().unwrap().iter();
        let mut links = links.filter(|link| link["relation"] == "next");
        next = links
            .next()
            .map(|link| link["url"].as_str().unwrap()[world.base_url().len()..].to_owned());
    }
    assert!(shown > 10);
    let view = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": {
        "resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "Patient",
        "select": [{"column": [{"name": "id", "path": "id"}]}]}}]});
    let headers = [
        ("authorization", format!("Bearer {}", ours.token)),
        ("content-type", "application/fhir+json".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let rows = world
        .server
        .send("POST", "/fhir/ViewDefinition/$run", &headers, &view.to_string());
    assert_eq!(rows.json()["rows"], json!([{"id": ours.patient}]), "{}", rows.text);
}

#[test]
fn an_application_sees_all_of_its_live_rows() {
    let world = World::working(3);
    for person in 0..3 {
        world.synced("lakeshore", person);
    }
    let token = world.server.application_token();
    assert_eq!(world.total("Patient", &token), 3);
    let patients = world.get("/fhir/Patient?_count=10", &token).json();
    for entry in patients["entry"].as_array().unwrap() {
        let id = entry["resource"]["id"].as_str().unwrap();
        let found = world
            .get(
                &format!("/fhir/Coverage?beneficiary=Patient/{id}&_total=accurate"),
                &token,
            )
            .json();
        assert!(found["total"].as_u64().unwrap() > 0, "{id}");
    }
}

#[test]
fn test_mode_has_tables_of_its_own() {
    let world = World::new(1, Mode::Test);
    world.work();
    let connected = world.synced("lakeshore", 0);
    assert_eq!(world.total("Patient", &connected.token), 1);
    assert_eq!(world.total("Patient", &world.server.application_token()), 0);
    assert!(
        world
            .rows(&connected)
            .iter()
            .all(|(identity, _)| identity.0 == Mode::Test)
    );
}

/// Synced rows do not store which shared rows they use. A record's own references are enough to find them.
#[test]
fn a_synced_record_comes_whole() {
    let world = World::working(2);
    for organization in ["lakeshore", "hilltop"] {
        let connected = world.synced(organization, 0);
        let rows = world.all_rows(&connected);
        let (mut next, mut found) = (
            Some("/fhir/Patient/$PATIENT_ID/$everything?_count=50".to_owned()),
            std::collections::BTreeMap::new(),
        );
        while let Some(path) = next.take() {
            let page = world.get(&path, &connected.token).json();
            for entry in page["entry"].as_array().unwrap() {
                let resource = &entry["resource"];
                let name = (
                    text(resource, "resourceType").to_owned(),
                    text(resource, "id").to_owned(),
                );
                assert!(found.insert(name, entry["search"]["mode"].clone()).is_none());
            }
            let links = page["link"].as_array().unwrap().iter();
            let mut links = links.filter(|link| link["relation"] == "next");
            next = links
                .next()
                .map(|link| text(link, "url")[world.base_url().len()..].to_owned());
        }
        for ((_, _, resource_type, id), row) in &rows {
            let mode = found.remove(&((*resource_type).to_owned(), id.clone()));
            let expected = match *resource_type {
                "Organization" | "Practitioner" | "Medication" | "Location" => {
                    let reference = format!("\"{resource_type}/{id}\"");
                    let refers = rows.iter().any(|(identity, other)| {
                        !matches!(
                            identity.2,
                            "PractitionerRole" | "InsurancePlan" | "Provenance" | "Device"
                        ) && other.resource.contains(&reference)
                    });
                    refers.then(|| json!("include"))
                }
                "PractitionerRole" | "InsurancePlan" | "Device" => None,
                // A Provenance that names no Patient is not in R4's compartment.
                "Provenance" => mode.clone(),
                _ => Some(json!("match")),
            };
            assert_eq!(mode, expected, "{resource_type}/{id}: {}", row.resource);
        }
        assert!(found.is_empty(), "{found:?} is nobody's of the one who asks");
    }
}
