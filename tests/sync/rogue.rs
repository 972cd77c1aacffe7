//! Attacks by sources: on others' access, on other people's rows, and on the service's disk and memory.

use std::io::Write;

use serde_json::{Value, json};
use tabularium::consent::{
    Actor, AuthorizationType, Credential, EndpointStatus, Grant, JobState, LOCAL_APPLICATION, NewAuthorization,
    NewConsent, NewEndpoint, Organization, Origin, Usage,
};
use tabularium::lake::Mode;
use tabularium::sync::{Settings, SyncLimits};

use super::world::{Connected, REDIRECT, VERIFIER, World, pace};
use crate::harness::rogue::{Asked, Rogue, Said};

const TOKEN: &str = "the-access-token-of-the-source";
pub(super) const ALL: &str = "patient/*.rs";

/// A page of these resources, with the address of the next page.
pub(super) fn bundle(resources: &[Value], next: Option<&str>) -> Value {
    let entry: Vec<Value> = resources.iter().map(|one| json!({"resource": one})).collect();
    let link: Vec<Value> = next
        .map(|url| json!({"relation": "next", "url": url}))
        .into_iter()
        .collect();
    json!({"resourceType": "Bundle", "type": "searchset", "link": link, "entry": entry})
}

fn patient() -> Value {
    json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Own"}]})
}

pub(super) fn condition(id: &str) -> Value {
    json!({"resourceType": "Condition", "id": id, "subject": {"reference": "Patient/p"}})
}

/// A source that answers for the Patient and, by `found`, for Conditions. Other types have no records.
pub(super) fn source(found: impl Fn(&Asked, &str) -> Said + Send + Sync + 'static) -> Rogue {
    Rogue::start(move |asked, base| {
        let path = asked.path.split('?').next().unwrap();
        match path {
            "/fhir/Patient/p" => Said::json(&patient()),
            "/fhir/Condition" | "/fhir" => found(asked, base),
            path if path.starts_with("/fhir/") => Said::json(&bundle(&[], None)),
            _ => found(asked, base),
        }
    })
}

/// Connects the source for a person with its Patient.
pub(super) fn connect(world: &World, rogue: &Rogue, scope: &str) -> Connected {
    let store = world.store();
    let organization = Organization {
        id: "rogue".to_owned(),
        name: "Rogue".to_owned(),
        note: String::new(),
        organization_type: "PAYER".to_owned(),
    };
    store.organizations().save(&organization, Actor::Operator).unwrap();
    let endpoint = NewEndpoint {
        id: Some("rogue"),
        organization: "rogue",
        name: "rogue",
        mode: Mode::Live,
        label: &[],
        authorization_type: AuthorizationType::Oauth,
        refreshable: false,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &[
            "Account",
            "Condition",
            "Group",
            "Observation",
            "Patient",
            "Practitioner",
        ]
        .map(str::to_owned),
        fhir_base: &rogue.fhir(),
        configuration: None,
        client_id: "us",
        client_secret: None,
        scope,
        identifier_system: "urn:rogue",
    };
    store.endpoints().save(&endpoint, Actor::Operator).unwrap();
    let client = store.clients().of(LOCAL_APPLICATION, Mode::Live).unwrap();
    let new = NewConsent {
        client: &client.id,
        application: LOCAL_APPLICATION,
        mode: Mode::Live,
        made_by: Origin::Oauth,
        external_id: Some("user"),
        usage: Usage::OneTime,
        scope: "launch/patient",
    };
    let consent = store
        .consents()
        .create(&new, |id| world.lake().owner_of_consent(id))
        .unwrap();
    let authorization = store
        .authorizations()
        .create(&NewAuthorization {
            consent: &consent.id,
            endpoint: "rogue",
            authorization_type: AuthorizationType::Oauth,
            usage: Usage::OneTime,
            identity_provider: None,
        })
        .unwrap();
    store.authorizations().send_to_source(&authorization.id).unwrap();
    let owner = consent.owner.unwrap();
    let here = world.lake().synced_id(owner, "rogue", "Patient", "p");
    let grant = Grant {
        patient: &here,
        source_patient: "p",
        scope_requested: ALL,
        scope_granted: scope,
        refreshable: false,
        max_auth_until: None,
    };
    store.authorizations().grant(&authorization.id, &grant).unwrap();
    let credential = Credential {
        access_token: TOKEN.to_owned(),
        expires_at: None,
        refresh_token: None,
        assertion: None,
    };
    store.credentials().save(&authorization.id, &credential).unwrap();
    let mut connected = Connected {
        consent: consent.id,
        authorization: authorization.id,
        owner,
        patient: here,
        source_patient: "p".to_owned(),
        token: String::new(),
        source_token: TOKEN.to_owned(),
    };
    let code = world.code(&connected);
    let caller = store.clients().authenticate(&client.id, None).unwrap();
    let granted = world.server.tokens.exchange_code(&caller, &code, REDIRECT, VERIFIER);
    connected.token = granted.unwrap().access.token;
    connected
}

pub(super) fn settings() -> Settings {
    Settings {
        pace: pace(),
        ..Settings::default()
    }
}

/// Connects a source and waits for the end of its sync.
pub(super) fn synced(rogue: &Rogue, scope: &str) -> (World, Connected) {
    let world = World::new(1, Mode::Live);
    let connected = connect(&world, rogue, scope);
    world.work_at(settings());
    assert_eq!(
        world.end_of(&connected),
        JobState::Completed,
        "{:?}",
        world.audit(&connected)
    );
    (world, connected)
}

/// The resources of a type that a token finds, without remarks.
pub(super) fn found(world: &World, resource_type: &str, connected: &Connected) -> Vec<Value> {
    let answer = world.get(
        &format!("/fhir/{resource_type}?_sort=_id&_count=1000"),
        &connected.token,
    );
    assert_eq!(answer.status, 200, "{}", answer.text);
    let entries = answer.json()["entry"].as_array().cloned().unwrap_or_default();
    let of_records = entries.iter().filter(|entry| entry["search"]["mode"] != "outcome");
    of_records.map(|entry| entry["resource"].clone()).collect()
}

/// The requests to the source, without those for its public metadata.
fn of_records(rogue: &Rogue) -> Vec<Asked> {
    let mut asked = rogue.asked();
    asked.retain(|asked| asked.path != "/fhir/metadata");
    asked
}

fn bears_token(asked: &Asked) -> bool {
    format!("{asked:?}").contains(TOKEN)
}

#[test]
fn a_token_goes_under_the_fhir_base_only() {
    for next in [
        "/collect",
        "/fhirx/Condition",
        "/fhir/../collect",
        "/fhir/%2e%2e/collect",
        "//HOST/collect",
    ] {
        let rogue = source(move |asked, base| {
            if asked.path.contains("patient=p") {
                let next = next.replace("HOST", base.trim_start_matches("http://"));
                Said::json(&bundle(&[condition("a")], Some(&format!("{next}?page=2"))))
            } else {
                Said::json(&bundle(&[condition("b")], None))
            }
        });
        let (world, connected) = synced(&rogue, ALL);
        assert!(
            rogue.asked().iter().all(|asked| asked.path.starts_with("/fhir/")),
            "{next}"
        );
        let told = world.audit(&connected).join("\n");
        assert!(
            told.contains("Condition incomplete: the source's next page"),
            "{next}: {told}"
        );
        assert_eq!(found(&world, "Condition", &connected).len(), 1);
    }
}

#[test]
fn pages_at_the_base_itself_are_of_the_source() {
    // HAPI's form of page links.
    let rogue = source(|asked, base| {
        if asked.path.starts_with("/fhir?_getpages") {
            Said::json(&bundle(&[condition("b")], None))
        } else {
            Said::json(&bundle(&[condition("a")], Some(&format!("{base}/fhir?_getpages=1"))))
        }
    });
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Condition", &connected).len(), 2);
    assert!(of_records(&rogue).iter().all(bears_token));
}

#[test]
fn a_redirect_out_of_the_fhir_base_is_followed_without_the_token() {
    let rogue = source(|asked, _| {
        if asked.path.starts_with("/elsewhere") {
            Said::json(&bundle(&[condition("a")], None))
        } else {
            Said::redirect("/elsewhere")
        }
    });
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Condition", &connected).len(), 1);
    for asked in of_records(&rogue) {
        assert_eq!(bears_token(&asked), asked.path.starts_with("/fhir"), "{asked:?}");
    }
}

#[test]
fn types_that_were_not_asked_for_are_left_out() {
    // The patient did not grant Observations, but the source sends them.
    let rogue = source(|_, _| {
        let observation = json!({"resourceType": "Observation", "id": "o", "subject": {"reference": "Patient/p"}});
        let inside = json!({"resourceType": "Bundle", "id": "x", "type": "transaction",
            "entry": [{"resource": condition("inside"), "request": {"method": "PUT", "url": "Condition/inside"}}]});
        let list = json!({"resourceType": "List", "id": "l", "status": "current", "mode": "working", "subject": {"reference": "Patient/p"}});
        Said::json(&bundle(&[condition("a"), observation, inside, list], None))
    });
    let (world, connected) = synced(&rogue, "patient/Condition.rs patient/Patient.rs");
    let rows = world.rows(&connected);
    let mut types: Vec<&str> = rows
        .iter()
        .map(|((_, _, resource_type, _), _)| *resource_type)
        .collect();
    types.sort_unstable();
    assert_eq!(types, ["Condition", "Patient"]);
    let told = world.audit(&connected).join("\n");
    assert!(told.contains("3 of types that were not asked for"), "{told}");
}

#[test]
fn records_of_other_people_are_refused_however_they_are_named() {
    let rogue = source(|_, base| {
        let about = |id: &str, subject: Value| {
            let mut one = condition(id);
            one["subject"] = subject;
            one
        };
        let account = |id: &str, subjects: &[&str]| {
            let subject: Vec<Value> = subjects
                .iter()
                .map(|one| json!({"reference": format!("Patient/{one}")}))
                .collect();
            json!({"resourceType": "Account", "id": id, "status": "active", "subject": subject})
        };
        let host = base.trim_start_matches("http://");
        Said::json(&bundle(
            &[
                condition("own"),
                about("relative", json!({"reference": "Patient/q"})),
                about("absolute", json!({"reference": format!("{base}/fhir/Patient/q")})),
                about("versioned", json!({"reference": "Patient/q/_history/1"})),
                // An address that a gateway did not rewrite.
                about(
                    "internal",
                    json!({"reference": format!("{base}/internal/r4/Patient/q")}),
                ),
                about("secure", json!({"reference": format!("https://{host}/fhir/Patient/q")})),
                about("odd", json!({"reference": "Patient/q_r"})),
                account("household", &["p", "q"]),
                account("neighbours", &["q", "r"]),
                json!({"resourceType": "Group", "id": "others", "type": "person", "actual": true,
                    "member": [{"entity": {"reference": "Patient/q"}}, {"entity": {"reference": "Patient/r"}}]}),
                json!({"resourceType": "Observation", "id": "performed", "status": "final",
                    "performer": [{"reference": "Patient/q"}, {"reference": "Patient/r"}]}),
                json!({"resourceType": "Patient", "id": "q", "name": [{"family": "Other"}]}),
            ],
            None,
        ))
    });
    let (world, connected) = synced(&rogue, ALL);
    let mut kept: Vec<String> = Vec::new();
    for (_, row) in world.rows(&connected) {
        let resource: Value = serde_json::from_str(&row.resource).unwrap();
        kept.push(
            resource["meta"]["source"]
                .as_str()
                .unwrap()
                .rsplit('/')
                .next()
                .unwrap()
                .to_owned(),
        );
    }
    kept.sort();
    assert_eq!(kept, ["household", "own", "p"], "{:?}", world.audit(&connected));
    assert_eq!(found(&world, "Patient", &connected).len(), 1);
}

#[test]
fn an_id_that_comes_twice_is_one_row_with_the_content_that_came_last() {
    let rogue = source(|_, _| {
        let mut later = condition("a");
        later["code"] = json!({"text": "later"});
        Said::json(&bundle(&[condition("a"), later], None))
    });
    let (world, connected) = synced(&rogue, ALL);
    let conditions = found(&world, "Condition", &connected);
    assert_eq!(conditions.len(), 1);
    assert_eq!(conditions[0]["code"]["text"], "later");
}

#[test]
fn ids_that_are_none_are_refused_and_the_others_are_stored() {
    let rogue = source(|_, _| {
        // Ids of up to 256 characters, and with underscores, are accepted, because we assign our own.
        let long = "x".repeat(257);
        let odd = [
            "../../Patient/q",
            "a b",
            "a#b",
            "<script>alert(1)</script>",
            "a\u{0}b",
            "é",
            "",
            "a/b",
            "a?b=c",
            long.as_str(),
        ];
        let mut all: Vec<Value> = odd.iter().map(|id| condition(id)).collect();
        let longer = "x".repeat(65);
        all.extend([".", "..", "good", "a_b", &longer].map(condition));
        Said::json(&bundle(&all, None))
    });
    let (world, connected) = synced(&rogue, ALL);
    let conditions = found(&world, "Condition", &connected);
    assert_eq!(conditions.len(), 5, "{:?}", world.audit(&connected));
    for condition in conditions {
        assert!(uuid::Uuid::try_parse(condition["id"].as_str().unwrap()).is_ok());
    }
}

#[test]
fn references_lead_to_nobody_elses_rows() {
    let world = World::new(1, Mode::Live);
    world.work_at(settings());
    let victim = world.synced("lakeshore", 0);
    let (other, address) = (victim.patient.clone(), world.base_url());
    let rogue = source(move |_, _| {
        let texts = [
            json!({"reference": format!("Patient/{other}")}),
            json!({"reference": format!("Patient/{other}"), "language": "en"}),
            json!({"reference": format!("Patient/{other}"), "resourceType": "Reference"}),
            json!({"reference": format!("{address}/fhir/Patient/{other}")}),
            json!({"reference": "Patient?name=a"}),
        ];
        let mut one = condition("a");
        one["recorder"] = texts[0].clone();
        one["asserter"] = texts[1].clone();
        let mut two = condition("b");
        two["recorder"] = texts[2].clone();
        two["asserter"] = texts[3].clone();
        let mut three = condition("c");
        three["asserter"] = texts[4].clone();
        Said::json(&bundle(&[one, two, three], None))
    });
    let connected = connect(&world, &rogue, ALL);
    assert_eq!(
        world.end_of(&connected),
        JobState::Completed,
        "{:?}",
        world.audit(&connected)
    );
    let path = "/fhir/Condition?_include=Condition:asserter&_include=Condition:subject";
    let answer = world.get(path, &connected.token);
    let text = answer.text.clone();
    let entries = answer.json()["entry"].as_array().cloned().unwrap();
    let patients = entries
        .iter()
        .filter(|entry| entry["resource"]["resourceType"] == "Patient");
    assert_eq!(patients.count(), 1, "{text}");
    // No stored relative reference leads to another consent's rows.
    for (_, row) in world.rows(&connected) {
        let relative = format!("\"Patient/{}", victim.patient);
        assert!(!row.resource.contains(&relative), "{}", row.resource);
    }
    let by = format!("/fhir/Condition?asserter=Patient/{}", victim.patient);
    assert_eq!(
        world.get(&format!("{by}&_summary=count"), &victim.token).json()["total"],
        0
    );
    assert_eq!(world.rows(&victim).len(), world.record_of("lakeshore", &victim).len());
}

#[test]
fn marks_of_ours_cannot_be_forged() {
    let world = World::new(1, Mode::Live);
    let system = format!("{}/tags/PatientAccessTokenId", world.base_url());
    let rogue = source(move |_, _| {
        let mut forged = condition("a");
        forged["meta"] = json!({"versionId": "99", "lastUpdated": "2001-01-01T00:00:00Z", "source": "urn:elsewhere",
            "tag": [{"system": system, "code": "somebody-elses"}]});
        Said::json(&bundle(&[forged], None))
    });
    let connected = connect(&world, &rogue, ALL);
    world.work_at(settings());
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let condition = found(&world, "Condition", &connected).remove(0);
    let meta = &condition["meta"];
    assert_eq!(meta["versionId"], "1");
    assert_eq!(meta["source"], format!("{}/fhir/Condition/a", rogue.base));
    let ours = meta["tag"].as_array().unwrap().iter();
    let codes: Vec<&str> = ours
        .filter(|tag| {
            tag["system"]
                .as_str()
                .unwrap_or_default()
                .ends_with("/tags/PatientAccessTokenId")
        })
        .map(|tag| tag["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, [connected.authorization.as_str()]);
}

#[test]
fn what_is_too_deep_too_large_or_a_bomb_is_left_out_and_the_rest_is_stored() {
    let rogue = Rogue::start(|asked, _| {
        let path = asked.path.split('?').next().unwrap();
        match path {
            "/fhir/Patient/p" => Said::json(&patient()),
            "/fhir/Account" => {
                // 96 MiB of spaces compress to a hundred thousand bytes.
                let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
                for _ in 0..96 {
                    coder.write_all(&[b' '; 1 << 20]).unwrap();
                }
                let body = coder.finish().unwrap();
                Said {
                    body,
                    ..Said::status(200)
                }
                .with("content-encoding", "gzip")
            }
            "/fhir/Condition" => {
                let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
                let text = bundle(
                    &[
                        condition("good"),
                        json!({"resourceType": "Condition", "id": "deep", "x": "DEEP"}),
                    ],
                    None,
                );
                Said::text("application/json", &text.to_string().replace("\"DEEP\"", &deep))
            }
            "/fhir/Observation" => Said::text(
                "application/json",
                &format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000)),
            ),
            _ => Said::json(&bundle(&[], None)),
        }
    });
    let (world, connected) = synced(&rogue, ALL);
    let told = world.audit(&connected).join("\n");
    assert!(
        told.contains("Account left out") && told.contains("is too large"),
        "{told}"
    );
    assert!(told.contains("Observation left out"), "{told}");
    assert_eq!(found(&world, "Condition", &connected).len(), 1, "{told}");
}

#[test]
fn the_address_of_a_page_is_bounded() {
    let rogue = source(|_, base| {
        let next = format!("{base}/fhir/Condition?at={}", "x".repeat(100_000));
        Said::json(&bundle(&[condition("a")], Some(&next)))
    });
    let (world, connected) = synced(&rogue, ALL);
    let told = world.audit(&connected).join("\n");
    assert!(told.contains("Condition incomplete"), "{told}");
    assert_eq!(rogue.count("/fhir/Condition?at="), 0);
}

#[test]
fn a_source_neither_fills_the_disk_nor_goes_on_for_ever() {
    // An endless series of pages, none too large by itself.
    let rogue = source(|asked, base| {
        let page = asked
            .path
            .rsplit('=')
            .next()
            .and_then(|page| page.parse::<u64>().ok())
            .unwrap_or(0);
        let mut records: Vec<Value> = (0..10).map(|one| condition(&format!("c-{page}-{one}"))).collect();
        records[0]["note"] = json!([{"text": "x".repeat(100_000)}]);
        let next = format!("{base}/fhir/Condition?patient=p&page={}", page + 1);
        Said::json(&bundle(&records, Some(&next)))
    });
    for limits in [
        SyncLimits {
            bytes: 1 << 20,
            ..SyncLimits::default()
        },
        SyncLimits {
            records: 99,
            ..SyncLimits::default()
        },
    ] {
        let world = World::new(1, Mode::Live);
        let connected = connect(&world, &rogue, ALL);
        world.work_at(Settings { limits, ..settings() });
        assert_eq!(world.end_of(&connected), JobState::Failed);
        let job = &world.store().jobs().of_authorization(&connected.authorization).unwrap()[0];
        let why = "the source gives more than is taken of one patient";
        assert_eq!(job.failure.as_deref(), Some(why));
        assert!(world.rows(&connected).is_empty());
        world.rest();
        let left = crate::harness::lake::files_below(&world.server.folder().join("spool"));
        assert!(left.iter().all(|path| path.ends_with("lock")), "{left:?}");
    }
    let world = World::new(1, Mode::Live);
    let connected = connect(&world, &rogue, ALL);
    let limits = SyncLimits {
        time: std::time::Duration::from_millis(50),
        ..SyncLimits::default()
    };
    let pace = tabularium::sync::Pace { attempts: 2, ..pace() };
    world.work_at(Settings {
        limits,
        pace,
        ..settings()
    });
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let job = &world.store().jobs().of_authorization(&connected.authorization).unwrap()[0];
    assert_eq!(job.failure.as_deref(), Some("the source took too long"));
}

#[test]
fn a_source_that_does_not_answer_leaves_room_for_the_others() {
    // Its requests hang until the test ends.
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let rogue = source(move |_, _| {
        let _ = held.lock().unwrap().recv();
        Said::status(404)
    });
    let world = World::new(1, Mode::Live);
    let stuck: Vec<Connected> = (0..4).map(|_| connect(&world, &rogue, ALL)).collect();
    world.work_at(Settings { jobs: 2, ..settings() });
    world.until("the source is asked", || rogue.count("/fhir/Condition") > 0);
    world.synced("lakeshore", 0);
    let running = stuck.iter().filter(|one| world.job(one) == JobState::Active).count();
    assert_eq!(running, 1, "of two at once");
    drop(hold);
}

#[test]
fn pages_beside_the_fhir_base_are_the_sources_where_the_operator_says_so() {
    let rogue = source(|asked, _| {
        if asked.path.starts_with("/paging") {
            Said::json(&bundle(&[condition("b")], None))
        } else {
            Said::json(&bundle(&[condition("a")], Some("/paging/next?page=2")))
        }
    });
    let world = World::new(1, Mode::Live);
    let connected = connect(&world, &rogue, ALL);
    let pages = [format!("{}/paging/", rogue.base)];
    world
        .store()
        .endpoints()
        .set_pages("rogue", &pages, Actor::Operator)
        .unwrap();
    assert!(
        world
            .store()
            .endpoints()
            .set_pages("rogue", &["/paging".to_owned()], Actor::Operator)
            .is_err()
    );
    world.work_at(settings());
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(found(&world, "Condition", &connected).len(), 2);
    assert!(of_records(&rogue).iter().all(bears_token));
}

#[cfg(unix)]
#[test]
fn nobody_but_the_owner_may_read_what_is_on_disk() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let deleted = world.payer.bump("lakeshore", &world.payer.person(0).user, None);
    assert!(!deleted.is_empty());
    world
        .store()
        .jobs()
        .create(&connected.authorization, "refresh")
        .unwrap();
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let mut folders = vec![world.server.folder().to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let expected = if entry.file_type().unwrap().is_dir() {
                0o700
            } else {
                0o600
            };
            assert_eq!(mode, expected, "{}", entry.path().display());
            seen += 1;
            if expected == 0o700 {
                folders.push(entry.path());
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
