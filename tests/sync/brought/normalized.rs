//! Normalization of a consent's records: resources generated from claims, and contributions between sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};
use tabularium::consent::{JobState, Usage};
use tabularium::lake::Mode;
use tabularium::sync::carry_out_erasures;

use super::super::interrupted::service::{Service, lasting_address};
use super::super::world::{Connected, World, text};
use crate::harness::lake::files_below;
use crate::harness::stored::{decoded, decoded_file};

/// The generated resources of a consent, by `Type/id`, with their versions.
fn made(world: &World, connected: &Connected) -> BTreeMap<String, (i64, Value)> {
    let rows = world.generated(connected).into_iter().map(|(identity, row)| {
        assert_eq!(row.patient.as_deref(), Some(connected.patient.as_str()));
        let resource: Value = serde_json::from_str(&row.resource).unwrap();
        (format!("{}/{}", identity.2, identity.3), (row.version, resource))
    });
    rows.collect()
}

fn sync_again(world: &World, connected: &Connected) {
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(
        world.end_of(connected),
        JobState::Completed,
        "{:?}",
        world.audit(connected)
    );
}

fn versions(world: &World, connected: &Connected) -> BTreeMap<String, i64> {
    let rows = world.all_rows(connected).into_iter();
    rows.map(|(identity, row)| (format!("{}/{}", identity.2, identity.3), row.version))
        .collect()
}

#[test]
fn claims_become_prescriptions_and_visits_that_an_application_finds() {
    let world = World::working(2);
    let connected = world.synced("lakeshore", 0);
    let made = made(&world, &connected);
    let types: BTreeSet<&str> = made
        .values()
        .map(|(_, resource)| text(resource, "resourceType"))
        .collect();
    for wanted in ["MedicationRequest", "Condition", "Procedure", "Provenance"] {
        assert!(types.contains(wanted), "no {wanted} among {types:?}");
    }
    // If a generated resource names a visit, the visit exists: the source's own or a generated one.
    for (name, (_, resource)) in &made {
        if let Some(visit) = resource["encounter"]["reference"].as_str() {
            let read = world.get(&format!("/fhir/{visit}"), &connected.token);
            assert_eq!(read.status, 200, "{name}: {visit}");
        }
    }
    for (name, (version, resource)) in &made {
        assert_eq!(*version, 1, "{name}");
        let tags = resource["meta"]["tag"].as_array().unwrap();
        let code = |system: &str| {
            let system = format!("{}/tags/{system}", world.base_url());
            let mut codes = tags.iter().filter(|tag| tag["system"] == json!(system));
            codes.next().map(|tag| text(tag, "code").to_owned())
        };
        assert_eq!(
            code("PatientAccessTokenId").as_deref(),
            Some(connected.authorization.as_str()),
            "{name}"
        );
        assert_eq!(code("EndpointId").as_deref(), Some("lakeshore"), "{name}");
        assert!(code("GeneratedBy").is_some(), "{name}");
        // The person's token can read it, and another person's cannot.
        let read = world.get(&format!("/fhir/{name}"), &connected.token);
        assert_eq!(read.status, 200, "{name}: {}", read.text);
    }
    let other = world.synced("lakeshore", 1);
    let (name, _) = made.first_key_value().unwrap();
    assert_eq!(world.get(&format!("/fhir/{name}"), &other.token).status, 404);
    let counts = world.total("MedicationRequest", &connected.token);
    let prescriptions = made
        .keys()
        .filter(|name| name.starts_with("MedicationRequest/"))
        .count();
    assert_eq!(counts, prescriptions as u64);
    // Generated resources refer to existing claims.
    let orders = made.iter().filter(|(name, _)| name.starts_with("MedicationRequest/"));
    for (name, (_, order)) in orders {
        let claims = order["supportingInformation"].as_array().unwrap();
        assert!(!claims.is_empty(), "{name}");
        for claim in claims {
            let read = world.get(&format!("/fhir/{}", text(claim, "reference")), &connected.token);
            assert_eq!(read.status, 200, "{name}");
        }
    }
}

#[test]
fn a_sync_that_brings_nothing_new_changes_no_version() {
    let world = World::working(1);
    let claims = world.synced("lakeshore", 0);
    let visits = world.synced("riverbend", 0);
    for connected in [&claims, &visits] {
        let before = versions(&world, connected);
        sync_again(&world, connected);
        assert_eq!(versions(&world, connected), before);
    }
}

#[test]
fn a_changed_claim_changes_what_was_made_of_it() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let before = made(&world, &connected);
    let orders = |made: &BTreeMap<String, (i64, Value)>| {
        made.keys()
            .filter(|name| name.starts_with("MedicationRequest/"))
            .cloned()
            .collect::<BTreeSet<String>>()
    };
    // All fills of one prescription are cancelled.
    let gone = orders(&before).first().unwrap().clone();
    let claims: BTreeSet<&str> = before[&gone].1["supportingInformation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| text(claim, "reference"))
        .collect();
    let user = world.payer.person(0).user;
    for mut record in world.record_of("lakeshore", &connected) {
        let (resource_type, id) = (text(&record, "resourceType").to_owned(), text(&record, "id").to_owned());
        let here = format!(
            "{resource_type}/{}",
            world
                .lake()
                .synced_id(connected.owner, "lakeshore", &resource_type, &id)
        );
        if claims.contains(here.as_str()) {
            record["status"] = json!("cancelled");
            world.payer.put("lakeshore", &user, &record);
        }
    }
    sync_again(&world, &connected);
    let after = made(&world, &connected);
    let mut expected = orders(&before);
    expected.remove(&gone);
    assert_eq!(orders(&after), expected);
    assert_eq!(world.get(&format!("/fhir/{gone}"), &connected.token).status, 404);
    let about: Vec<&String> = after
        .iter()
        .filter(|(_, (_, resource))| resource.to_string().contains(&gone))
        .map(|(name, _)| name)
        .collect();
    assert!(about.is_empty(), "{about:?} tell of what is gone");
}

#[test]
fn sources_of_one_consent_are_normalized_together_and_forget_the_one_that_ends() {
    let world = World::working(1);
    let once = world.authorize("hilltop", 0, Usage::Multiple);
    let lasting = world.add_source(&once.consent, "lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&once);
    for connected in [&once, &lasting] {
        assert_eq!(
            world.end_of(connected),
            JobState::Completed,
            "{:?}",
            world.audit(connected)
        );
    }
    let patient = |connected: &Connected| {
        let token = text(&tokens, "access_token");
        let answer = world.get(&format!("/fhir/Patient/{}", connected.patient), token);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    };
    for (one, other) in [(&once, &lasting), (&lasting, &once)] {
        let link = &patient(one)["link"][0];
        assert_eq!(link["type"], "seealso");
        assert_eq!(link["other"]["reference"], json!(format!("Patient/{}", other.patient)));
    }
    // The day of the first source is over.
    world.store().clock().advance(86_400 - 60);
    let tokens = world.refresh("/oauth/token", &tokens).json();
    world.store().clock().advance(60);
    world.until("the erasure", || {
        let gone = world
            .store()
            .authorizations()
            .get(&once.authorization)
            .unwrap()
            .unwrap();
        gone.data_erased_at.is_some() && world.store().erasures().open(0, 1).unwrap().is_empty()
    });
    let left = world.all_rows(&lasting);
    assert!(!left.is_empty());
    let tells = |resource: &str| resource.contains(&once.patient) || resource.contains("hilltop");
    let telling: Vec<_> = left
        .iter()
        .filter(|(_, row)| tells(&row.resource))
        .map(|(identity, _)| identity)
        .collect();
    assert!(telling.is_empty(), "{telling:?}");
    let read = world.get(
        &format!("/fhir/Patient/{}", lasting.patient),
        text(&tokens, "access_token"),
    );
    assert_eq!(read.json().get("link"), None, "{}", read.text);
}

#[test]
fn a_reference_that_leads_nowhere_in_three_syncs_says_so() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let user = world.payer.person(0).user;
    let added = json!({"resourceType": "Coverage", "id": "added", "status": "active",
                       "beneficiary": {"reference": format!("Patient/{}", connected.source_patient)},
                       "payor": [{"reference": "Organization/nowhere"}]});
    world.payer.put("lakeshore", &user, &added);
    let id = world
        .lake()
        .synced_id(connected.owner, "lakeshore", "Coverage", "added");
    for sync in 1..=4 {
        sync_again(&world, &connected);
        let read = world.get(&format!("/fhir/Coverage/{id}"), &connected.token);
        assert_eq!(read.status, 200, "{}", read.text);
        assert_eq!(
            read.text.contains("data-absent-reason"),
            sync >= 3,
            "sync {sync}: {}",
            read.text
        );
        let version = if sync >= 3 { "2" } else { "1" };
        assert_eq!(read.json()["meta"]["versionId"], version, "sync {sync}");
    }
}

/// The program itself serves here, so it opens the tables of plans and reopens them.
#[test]
fn plans_that_are_loaded_name_the_plan_of_a_coverage_while_the_service_runs() {
    let world = World::new(1, Mode::Live);
    let person = world.payer.person(0);
    let class = json!([{"type": {"coding": [{"code": "plan"}]}, "value": "H9001-001"}]);
    let coverage = json!({"resourceType": "Coverage", "id": "advantage", "status": "active", "class": class,
        "period": {"start": "2026-01-01", "end": "2026-12-31"}, "payor": [{"display": "Ours"}],
        "beneficiary": {"reference": format!("Patient/{}", person.patient)}});
    world.payer.put("lakeshore", &person.user, &coverage);
    let folder = tempfile::tempdir().unwrap();
    let load = |name: &str| {
        let file = folder.path().join("CPSC_Contract_Info_2026_01.csv");
        let header = "Contract ID,Plan ID,Offers Part D,Organization Name,Organization Marketing Name,Plan Name";
        std::fs::write(&file, format!("{header}\nH9001,1,Yes,OURS INC,Ours,{name}\n")).unwrap();
        let arguments = ["plans", "load", file.to_str().unwrap()];
        crate::commands::service_commands::done(world.server.folder(), &arguments);
    };
    load("Gold of January");
    let _service = Service::start(&world, &lasting_address());
    let connected = world.synced("lakeshore", 0);
    let name = || {
        world.lake().refresh().unwrap();
        let plans = made(&world, &connected).into_values().map(|(_, resource)| resource);
        let mut plans = plans.filter(|resource| resource["resourceType"] == "InsurancePlan");
        plans.next().map(|plan| text(&plan, "name").to_owned())
    };
    assert_eq!(name().as_deref(), Some("Gold of January"));
    load("Gold of February");
    // The service notices within a second or two. An earlier sync uses the old table.
    world.until("the service takes up the new table", || {
        sync_again(&world, &connected);
        name().as_deref() == Some("Gold of February")
    });
}

/// Two sources of one consent: the first for a day, the second permanently.
fn two_sources(world: &World, first: &str, second: &str) -> (Connected, Connected) {
    let one = world.authorize(first, 0, Usage::Multiple);
    let other = world.add_source(&one.consent, second, 0, Usage::Multiple);
    (one, other)
}

fn both_synced(world: &World, sources: &(Connected, Connected)) {
    world.tokens(&sources.0);
    for connected in [&sources.0, &sources.1] {
        assert_eq!(
            world.end_of(connected),
            JobState::Completed,
            "{:?}",
            world.audit(connected)
        );
    }
}

/// Lets the first source's day end. Its rows must be erased.
fn end_the_day(world: &World, once: &Connected) {
    world.store().clock().advance(86_400);
    world.store().sweep().unwrap();
    let gone = world
        .store()
        .authorizations()
        .get(&once.authorization)
        .unwrap()
        .unwrap();
    assert!(gone.data_erased_at.is_some());
}

/// Texts that only the first source has.
const SECRETS: [&str; 4] = ["Zebulon", "555-0199", "Quokka", "Narwhal"];
const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// The first source has a payer's NPI, a telephone number, and a code's display. The second source's records gain all
/// of them: by an identifier, a condition, a contained copy, a copy with the same NPI, and the code.
fn put_secrets(world: &World, once: &Connected, lasting: &Connected) {
    let user = world.payer.person(0).user;
    let organization = |id: &str, npi: &str, more: Value| {
        let mut organization =
            json!({"resourceType": "Organization", "id": id, "identifier": [{"system": NPI, "value": npi}]});
        organization
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        organization
    };
    let coverage = |connected: &Connected, kind: Value, payors: Value| {
        json!({"resourceType": "Coverage", "id": "added", "status": "active", "type": kind, "payor": payors,
            "beneficiary": {"reference": format!("Patient/{}", connected.source_patient)}})
    };
    let codes = "https://codes.example";
    let told = json!({"coding": [{"system": codes, "code": "k7", "display": "Quokka tier"}], "text": "Narwhal"});
    for record in [
        organization("secret", "1999999984", json!({"name": "Zebulon Trust"})),
        organization(
            "known",
            "1888888881",
            json!({"name": "Same", "telecom": [{"system": "phone", "value": "555-0199"}]}),
        ),
        coverage(
            once,
            told,
            json!([{"reference": "Organization/secret"}, {"reference": "Organization/known"}]),
        ),
    ] {
        world.payer.put("hilltop", &user, &record);
    }
    let mut own = coverage(
        lasting,
        json!({"coding": [{"system": codes, "code": "k7"}]}),
        json!([{"identifier": {"system": NPI, "value": "1999999984"}},
            {"reference": format!("Organization?identifier={NPI}|1999999984")},
            {"reference": "#c"},
            {"reference": "Organization/known"}]),
    );
    own["contained"] = json!([organization("c", "1999999984", json!({}))]);
    world.payer.put("lakeshore", &user, &own);
    let known = organization("known", "1888888881", json!({"name": "Same"}));
    world.payer.put("lakeshore", &user, &known);
}

/// A display, a text or a reference contributed by another source had no mark. It stayed in the record after the other
/// source's records were erased.
#[test]
fn an_erased_source_leaves_no_byte_in_the_records_of_another() {
    let world = World::working(1);
    let (once, lasting) = two_sources(&world, "hilltop", "lakeshore");
    put_secrets(&world, &once, &lasting);
    let sources = (once, lasting);
    both_synced(&world, &sources);
    let (once, lasting) = sources;
    // Whichever sync came first, the next one sees both sources.
    sync_again(&world, &lasting);
    let with_secrets = |secret: &str| {
        let rows = decoded(world.lake(), &lasting.authorization);
        rows.into_iter().filter(|row| row.contains(secret)).count()
    };
    for secret in ["Zebulon", "555-0199", "Quokka"] {
        assert!(with_secrets(secret) > 0, "{secret} was not contributed");
    }
    end_the_day(&world, &once);
    world.until("the erasure", || {
        world.store().erasures().open(0, 1).unwrap().is_empty()
    });
    let hidden = [once.patient.as_str(), once.authorization.as_str(), "hilltop"];
    for secret in SECRETS.into_iter().chain(hidden) {
        assert_eq!(with_secrets(secret), 0, "{secret} is left");
    }
    // Deleted rows and files of older snapshots do not contain them either.
    for file in files_below(&world.server.folder().join("data")) {
        let name = file.to_string_lossy();
        if name.ends_with(".parquet") && !name.ends_with("-delete.parquet") {
            let rows = decoded_file(&file).concat();
            let told: Vec<&str> = SECRETS
                .into_iter()
                .chain(hidden)
                .filter(|secret| rows.contains(secret))
                .collect();
            assert_eq!(told, [""; 0], "{}", file.display());
        }
    }
    // The rest equals the second source's records alone: its next sync changes nothing.
    let before = versions(&world, &lasting);
    sync_again(&world, &lasting);
    assert_eq!(versions(&world, &lasting), before);
}

/// Each sync overwrote one history for all sources. So dangling references of alternating sources were never counted
/// three times in a row.
#[test]
fn references_of_sources_that_are_synced_in_turn_are_counted_each() {
    let world = World::working(1);
    let sources = two_sources(&world, "cedarway", "lakeshore");
    let user = world.payer.person(0).user;
    for (connected, organization) in [(&sources.0, "cedarway"), (&sources.1, "lakeshore")] {
        let added = json!({"resourceType": "Coverage", "id": "added", "status": "active",
            "beneficiary": {"reference": format!("Patient/{}", connected.source_patient)},
            "payor": [{"reference": "Organization/nowhere"}]});
        world.payer.put(organization, &user, &added);
    }
    both_synced(&world, &sources);
    let says_so = |connected: &Connected, organization: &str| {
        let id = world
            .lake()
            .synced_id(connected.owner, organization, "Coverage", "added");
        let rows = world.all_rows(connected).into_iter();
        let mut found = rows.filter(|(identity, _)| identity.3 == id);
        found.next().unwrap().1.resource.contains("data-absent-reason")
    };
    let both = || (says_so(&sources.0, "cedarway"), says_so(&sources.1, "lakeshore"));
    sync_again(&world, &sources.0);
    sync_again(&world, &sources.1);
    assert_eq!(both(), (false, false), "two syncs each");
    sync_again(&world, &sources.0);
    assert_eq!(both(), (true, false));
    sync_again(&world, &sources.1);
    assert_eq!(both(), (true, true));
    let before = versions(&world, &sources.0);
    sync_again(&world, &sources.0);
    sync_again(&world, &sources.1);
    assert_eq!(versions(&world, &sources.0), before);
}

/// If the remaining records could not be normalized, the erasure was repeated and logged each minute.
#[test]
fn an_erasure_whose_rest_cannot_be_normalized_is_put_off_for_longer_each_time() {
    let world = World::working(1);
    let sources = two_sources(&world, "hilltop", "lakeshore");
    both_synced(&world, &sources);
    let (once, lasting) = sources;
    world.rest();
    let (file, whole) = damaged_texts(&world, &lasting, &once);
    end_the_day(&world, &once);
    let carry_out = || {
        let came = carry_out_erasures(world.store(), world.lake(), 0, &world.rules()).unwrap();
        (came.done, came.left)
    };
    assert_eq!(carry_out(), (0, 1));
    // The rows themselves are gone.
    assert!(world.lake().writer().unwrap().unfinished().is_empty());
    let noted = || {
        let snapshot = world.lake().snapshot();
        (world.audit(&once), snapshot.erasures(), snapshot.id)
    };
    let before = noted();
    // The waits are one minute, two and four.
    for wait in [60, 120, 240] {
        world.store().clock().advance(wait - 1);
        assert_eq!(carry_out(), (0, 0), "{wait}");
        world.store().clock().advance(1);
        assert_eq!(carry_out(), (0, 1), "{wait}");
        assert_eq!(noted(), before);
    }
    assert_eq!(world.store().erasures().open(0, 9).unwrap().len(), 1);
    std::fs::write(&file, whole).unwrap();
    world.store().clock().advance(86_400);
    assert_eq!(carry_out(), (1, 0));
    assert!(world.audit(&once).iter().any(|line| line.starts_with("records.erased")));
    assert!(world.store().erasures().open(0, 9).unwrap().is_empty());
    let left = decoded(world.lake(), &lasting.authorization);
    assert!(!left.is_empty() && left.iter().all(|row| !row.contains(&once.patient)));
}

/// Damages the texts of a file that has rows of one connection but none of another, so that erasing the other's rows
/// does not rewrite the file. Returns the file and its original bytes.
fn damaged_texts(world: &World, connected: &Connected, other: &Connected) -> (PathBuf, Vec<u8>) {
    let snapshot = world.lake().snapshot();
    for file in snapshot.tables.values().flat_map(|table| &table.files) {
        let whole = std::fs::read(&file.path).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&file.path).unwrap()).unwrap();
        let group = reader.metadata().row_group(0);
        let rows = decoded_file(&file.path);
        let has_rows_of = |one: &Connected| rows.iter().any(|row| row.contains(&one.authorization));
        if !has_rows_of(connected) || has_rows_of(other) {
            continue;
        }
        let mut columns = group.columns().iter();
        let texts = columns
            .find(|column| column.column_path().string() == "resource")
            .unwrap();
        let (start, length) = texts.byte_range();
        let mut bytes = whole.clone();
        bytes[start as usize..(start + length) as usize].fill(0xff);
        std::fs::write(&file.path, bytes).unwrap();
        return (file.path.clone(), whole);
    }
    panic!("no file with rows of one connection alone");
}
