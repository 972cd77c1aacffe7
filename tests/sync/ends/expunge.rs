//! `$expunge` from the request to the receipt: the response, the callers, the hidden rows, the stopped work, and the
//! remaining bytes on the disk.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand::RngExt;
use serde_json::{Value, json};
use tabularium::consent::{
    Actor, Expunge, Expunged, JobState, KeyPurpose, LOCAL_APPLICATION, SyncFrequency, Usage, is_about, receipt_digest,
    verify_receipt,
};
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::seal::KeyStore;
use tabularium::lake::{Keys, Mode};

use super::super::interrupted::service::{Service, is_erased, lasting_address};
use super::super::world::{Connected, World, text};
use crate::harness::consented::App;
use crate::harness::kills;
use crate::harness::kind;
use crate::harness::lake::files_below;
use crate::harness::server::Answer;

const PATH: &str = "/fhir/Patient/$PATIENT_ID/$expunge";

fn post(world: &World, path: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    world
        .server
        .send("POST", path, &[("authorization", &bearer), ("traceparent", trace)], "")
}

/// The path of the status address in a response.
fn status(answer: &Answer) -> String {
    let url = answer.json()["issue"][0]["diagnostics"].as_str().unwrap().to_owned();
    let at = url.find("/fhir/").unwrap();
    url[at..].to_owned()
}

fn extension<'a>(outcome: &'a Value, name: &str) -> &'a Value {
    let all = outcome["extension"].as_array().unwrap();
    let named = |one: &&Value| one["url"].as_str().unwrap().ends_with(&format!("/extensions/{name}"));
    all.iter()
        .find(named)
        .unwrap_or_else(|| panic!("no {name} in {outcome}"))
}

/// Waits for the end. Returns the receipt's contents after a check of its signature.
fn receipt(world: &World, path: &str, token: &str) -> (String, Value) {
    let end = std::cell::RefCell::new(Value::Null);
    world.until("the receipt", || {
        let answer = world.get(path, token);
        assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
        *end.borrow_mut() = answer.json();
        answer.status == 200
    });
    let end = end.into_inner();
    assert_eq!(end["id"], "completed");
    let receipt = text(extension(&end, "erasure-receipt"), "valueString").to_owned();
    (receipt.clone(), verified(world, &receipt))
}

fn verified(world: &World, receipt: &str) -> Value {
    let keys = world.store().es256_keys().all(KeyPurpose::Receipt).unwrap();
    verify_receipt(receipt, &keys).unwrap()
}

/// The files of the whole folder that contain a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let has = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        memchr::memmem::find(&bytes, text.as_bytes()).is_some()
    };
    let files = files_below(folder).into_iter().filter(has);
    files
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn all_records_of_the_consent_are_hidden_at_once_and_then_gone() {
    goes_whole(
        "lakeshore",
        &["Organization", "Practitioner", "ExplanationOfBenefit"],
        true,
    );
}

#[test]
fn documents_of_the_consent_go_with_its_records() {
    goes_whole("riverbend", &["Organization", "DocumentReference", "Binary"], false);
}

/// Expunges a consent for an organization's records. These types are among the records. With `has_generated`, rules
/// have generated further records.
fn goes_whole(organization: &str, types: &[&str], has_generated: bool) {
    let world = World::new(2, Mode::Live);
    world.payer.turn(organization, &json!({"attachments": ["pdf", "text"]}));
    world.work();
    let gone = world.connect(organization, 0);
    assert_eq!(world.end_of(&gone), JobState::Completed);
    let stays = world.synced(organization, 1);
    // After this, files contain rows of both people.
    let mut writer = world.lake().writer().unwrap();
    compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
    drop(writer);
    let (own, others) = (world.all_rows(&gone), world.all_rows(&stays));
    let rows = rows_in_files(&world, gone.owner);
    assert!(rows > own.len() as u64, "files of earlier snapshots hold them, too");
    let stored: BTreeSet<&str> = own.iter().map(|(identity, _)| identity.2).collect();
    assert!(
        types.iter().all(|resource_type| stored.contains(resource_type)),
        "{stored:?}"
    );
    assert_eq!(!world.generated(&gone).is_empty(), has_generated);
    let patient = world
        .get(&format!("/fhir/Patient/{}", gone.patient), &gone.token)
        .json();
    let family = text(&patient["name"][0], "family").to_owned();
    let application = world.server.application_token();
    let everybody = world.total("Patient", &application);
    let attachments = |world: &World| {
        let files = files_below(&world.server.folder().join("data"));
        files
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(".attachment"))
            .count() as u64
    };
    let before = attachments(&world);

    // Another writer holds the lake, so nothing is erased yet.
    let writer = world.lake().writer().unwrap();
    let begun = Instant::now();
    let accepted = post(&world, PATH, &gone.token);
    println!("answered in {:?}", begun.elapsed());
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    let outcome = accepted.json();
    assert_eq!(
        (&outcome["resourceType"], &outcome["id"]),
        (&json!("OperationOutcome"), &json!("accepted"))
    );
    let issue = &outcome["issue"][0];
    assert_eq!(issue["severity"], "information");
    assert_eq!(issue["code"], "informational");
    assert_eq!(issue["details"]["text"], "Accepted");
    let tracing = extension(&outcome, "tracing")["extension"].as_array().unwrap();
    let part = |name: &str| tracing.iter().find(|part| part["url"] == name).unwrap()["valueUuid"].clone();
    assert_eq!(
        part("requestId"),
        format!("urn:uuid:{}", accepted.header("x-request-id"))
    );
    assert_eq!(part("traceId"), "urn:uuid:4bf92f35-77b3-4da6-a3ce-929d0e0e4736");
    let status = status(&accepted);
    assert!(status.starts_with("/fhir/$expunge-status/"), "{status}");
    for path in [
        format!("/fhir/Patient/{}", gone.patient),
        "/fhir/Patient/$PATIENT_ID/$everything".to_owned(),
        "/fhir/Observation".to_owned(),
        "/fhir/Organization".to_owned(),
        "/fhir/Binary".to_owned(),
    ] {
        let answer = world.get(&path, &gone.token);
        assert_eq!(
            (answer.status, answer.issue().as_str()),
            (404, "not-found"),
            "{path}: {}",
            answer.text
        );
    }
    // The application does not see the rows either, although all files still contain them.
    let read = world.get(&format!("/fhir/Patient/{}", gone.patient), &application);
    assert_eq!((read.status, read.issue().as_str()), (404, "not-found"));
    assert_eq!(world.total("Patient", &application), everybody - 1);
    let waiting = world.get(&status, &gone.token);
    assert_eq!((waiting.status, &waiting.json()["id"]), (202, &json!("in-progress")));
    assert_eq!(waiting.header("x-progress"), "hidden; 0 of 1 parts erased");
    assert_eq!(world.get(&status, &application).status, 202);
    // A repeated request gets the same job.
    assert_eq!(self::status(&post(&world, PATH, &gone.token)), status);
    drop(writer);

    let (signed, claims) = receipt(&world, &status, &gone.token);
    assert_eq!(claims["jti"], status.rsplit('/').next().unwrap());
    assert_eq!(
        (&claims["asked"]["how"], &claims["asked"]["by"]),
        (&json!("$expunge"), &json!("patient"))
    );
    let places = claims["search"]["service_store"]["where"].as_object().unwrap();
    let expected = ["consent_patient.patient", "patient_authorization.patient"];
    assert!(places.keys().eq(expected), "{places:?}");
    assert_eq!(claims["asked"]["request"], accepted.header("x-request-id"));
    assert!(is_about(&claims, &gone.patient) && !is_about(&claims, &stays.patient));
    assert_eq!(claims["rows"].as_u64().unwrap(), rows);
    assert_eq!(
        claims["attachments"].as_array().unwrap().len() as u64,
        before - attachments(&world)
    );
    let has_documents = types.contains(&"Binary");
    assert_eq!(before > attachments(&world) && attachments(&world) > 0, has_documents);
    for part in ["files", "catalog", "attachments"] {
        assert_eq!(claims["search"][part]["found"], 0, "{part}: {claims}");
    }
    assert!(claims["search"]["files"]["values"].as_u64().unwrap() > 0);
    // Several versions may have the same id.
    let ids: BTreeSet<(&str, &str)> = own.iter().map(|(identity, _)| (identity.2, &*identity.3)).collect();
    assert_eq!(claims["search"]["ids"].as_u64().unwrap(), ids.len() as u64);
    let (before, after) = (&claims["snapshots"]["before"], &claims["snapshots"]["after"]);
    assert!(before["erasures"].as_u64() < after["erasures"].as_u64(), "{claims}");
    check_files(&world, &claims);
    let line = format!("erasure.receipt {} {}", text(&claims, "jti"), receipt_digest(&signed));
    assert!(world.audit(&gone).contains(&line), "{:?}", world.audit(&gone));

    assert!(world.all_rows(&gone).is_empty());
    assert_eq!(world.all_rows(&stays), others);
    assert_eq!(world.get("/fhir/Patient", &stays.token).status, 200);
    // The consent itself names the Patient by our id. Nothing else names the person.
    world.rest();
    let folder = world.server.folder();
    let stored = files_with(folder, &gone.patient);
    assert!(
        stored.iter().all(|name| name.starts_with("service.sqlite")),
        "{stored:?}"
    );
    for (resource_type, id) in ids.into_iter().filter(|(_, id)| *id != gone.patient) {
        assert_eq!(files_with(folder, id), [""; 0], "{resource_type}/{id}");
    }
    assert_eq!(files_with(folder, &gone.source_patient), [""; 0]);
    assert_eq!(files_with(folder, &family), [""; 0]);
}

/// The rows of an owner in all data files, including those of earlier snapshots.
fn rows_in_files(world: &World, owner: i64) -> u64 {
    let is_data = |path: &PathBuf| {
        let path = path.to_string_lossy();
        path.ends_with(".parquet") && !path.ends_with("-delete.parquet")
    };
    let files = files_below(&world.server.folder().join("data"));
    let rows = files.iter().filter(|path| is_data(path)).map(|path| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let mask = ProjectionMask::columns(builder.parquet_schema(), ["owner"]);
        let batches = builder.with_projection(mask).build().unwrap();
        let own = |batch: RecordBatch| {
            let owners = batch.column(0).as_primitive::<Int64Type>();
            owners.iter().filter(|of| *of == Some(owner)).count() as u64
        };
        batches.map(|batch| own(batch.unwrap())).sum::<u64>()
    });
    rows.sum()
}

/// Checks a receipt's files on the disk: replaced ones are gone, and new ones have the stated checksum.
fn check_files(world: &World, claims: &Value) {
    let data = world.server.folder().join("data");
    let files = claims["files"].as_array().unwrap();
    assert!(!files.is_empty());
    let mut rows = 0;
    for file in files {
        rows += file["rows"].as_u64().unwrap();
        assert!(!data.join(text(file, "path")).exists(), "{file}");
        assert_eq!(text(file, "sha256").len(), 64);
        if let Some(new) = file["replaced_by"].as_object() {
            let bytes = std::fs::read(data.join(new["path"].as_str().unwrap())).unwrap();
            let sum = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &bytes);
            let sum: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(new["sha256"], sum);
        }
    }
    assert_eq!(claims["rows"].as_u64().unwrap(), rows);
}

#[test]
fn only_the_patient_may_ask_and_only_when_records_are_there() {
    let world = World::new(2, Mode::Live);
    world.payer.turn("lakeshore", &json!({"slow": 40, "page": 2}));
    world.work();
    let one = world.connect("lakeshore", 0);
    let early = post(&world, PATH, &one.token);
    assert_eq!(
        (early.status, early.issue().as_str()),
        (429, "transient"),
        "{}",
        early.text
    );
    assert!(!early.header("x-retry-after").is_empty());
    let other = world.synced("cedarway", 1);
    assert_eq!(world.end_of(&one), JobState::Completed);
    let application = world.server.application_token();
    for path in [PATH.to_owned(), format!("/fhir/Patient/{}/$expunge", one.patient)] {
        let refused = post(&world, &path, &application);
        assert_eq!(
            (refused.status, refused.issue().as_str()),
            (422, "processing"),
            "{path}"
        );
    }
    for id in [&other.patient, "nobody"] {
        let refused = post(&world, &format!("/fhir/Patient/{id}/$expunge"), &one.token);
        assert_eq!((refused.status, refused.issue().as_str()), (404, "not-found"), "{id}");
    }
    assert_eq!(world.server.send("POST", PATH, &[], "").status, 401);
    assert_eq!(world.get(PATH, &one.token).status, 404, "it takes a POST");
    assert_eq!(
        world.total("Patient", &application),
        2,
        "a refused request erases nothing"
    );

    let accepted = post(&world, &format!("/fhir/Patient/{}/$expunge", one.patient), &one.token);
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    let status = status(&accepted);
    receipt(&world, &status, &application);
    // Other patients and applications get no status.
    let app = App::register(world.store(), "app");
    let own = json!({"grant_type": "client_credentials"});
    let foreign = world
        .server
        .post("/oauth/token", &[("authorization", &app.live.basic())], &own);
    let foreign = text(&foreign.json(), "access_token").to_owned();
    for token in [&other.token, &foreign] {
        let refused = world.get(&status, token);
        assert_eq!((refused.status, refused.issue().as_str()), (404, "not-found"));
        assert_eq!(world.get("/fhir/$expunge-status/none", token).status, 404);
    }
    assert_eq!(world.server.send("GET", &status, &[], "").status, 401);
    assert_eq!(world.get("/fhir/Patient", &other.token).status, 200);
}

#[test]
fn nothing_brings_the_records_back_but_a_new_authorization() {
    let world = World::working(1);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&connected);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let token = text(&tokens, "access_token");
    let daily = SyncFrequency::Daily;
    world
        .store()
        .applications()
        .set_sync_frequency(LOCAL_APPLICATION, daily, Actor::Operator)
        .unwrap();
    // A sync is running.
    world.payer.turn("lakeshore", &json!({"slow": 40, "page": 2}));
    let refreshed = world.refresh("/link/token", &tokens).json();
    world.until("the sync", || world.job(&connected) == JobState::Active);
    let accepted = post(&world, PATH, token);
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    assert_eq!(world.job(&connected), JobState::Failed);
    assert_eq!(world.store().credentials().get(&connected.authorization).unwrap(), None);
    receipt(&world, &status(&accepted), token);

    let told = world.get("/oauth/introspect", token).json();
    assert_eq!(
        (&told["active"], &told["state"]),
        (&json!(false), &json!("EXPIRED")),
        "{told}"
    );
    assert_eq!(told["sync"]["state"], "FAILED", "the sync that was running was stopped");
    assert_eq!(told["expungedAt"], world.store().clock().now());
    let counts = told["sync"]["resourceTypes"].as_object().unwrap();
    assert!(counts.values().all(|count| count == 0), "{told}");
    let jobs = world
        .store()
        .jobs()
        .of_authorization(&connected.authorization)
        .unwrap()
        .len();
    let again = world.refresh("/link/token", &refreshed);
    assert_eq!(again.status, 200, "{}", again.text);
    let again = again.json();
    let again = world.refresh("/oauth/token", &again).json();
    assert_eq!(world.get("/fhir/Patient", text(&again, "access_token")).status, 404);
    world.store().clock().advance(86_400 * 2);
    assert_eq!(world.store().jobs().schedule().unwrap(), 0);
    assert_eq!(
        world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap()
            .len(),
        jobs
    );
    assert!(world.all_rows(&connected).is_empty());

    world.payer.turn("lakeshore", &json!({"slow": 0, "page": 100}));
    let new = world.synced("lakeshore", 0);
    assert_ne!(new.patient, connected.patient);
    assert_eq!(
        world.get("/fhir/Patient", &new.token).json()["entry"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn every_end_of_records_has_a_receipt() {
    let world = World::working(3);
    let revoked = world.synced("lakeshore", 0);
    let over = world.connect_as("hilltop", 1, Usage::OneTime);
    assert_eq!(world.end_of(&over), JobState::Completed);
    let rows = [&revoked, &over].map(|connected| world.all_rows(connected).len() as u64);
    world
        .store()
        .consents()
        .revoke(&revoked.consent, Actor::Application)
        .unwrap();
    world.store().clock().advance(86_400);
    world.store().sweep().unwrap();
    for ((connected, rows), (how, by)) in [&revoked, &over]
        .into_iter()
        .zip(rows)
        .zip([("revoke", "application"), ("expiry", "service")])
    {
        let jobs = || world.store().erasure_jobs().list(Some(&connected.consent), 10).unwrap();
        world.until("the receipt", || jobs().iter().all(|job| job.receipt.is_some()));
        let jobs = jobs();
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        let claims = verified(&world, jobs[0].receipt.as_ref().unwrap());
        assert_eq!(
            (&claims["asked"]["how"], &claims["asked"]["by"]),
            (&json!(how), &json!(by))
        );
        assert_eq!(claims["rows"].as_u64().unwrap(), rows);
        assert!(is_about(&claims, &connected.patient));
        assert_eq!(claims["search"]["files"]["found"], 0);
    }
}

#[test]
fn keys_are_published_and_a_program_checks_a_receipt_by_them() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let accepted = post(&world, PATH, &connected.token);
    let (signed, _) = receipt(&world, &status(&accepted), &connected.token);
    let published = world.server.send("GET", "/receipts/.well-known/jwks.json", &[], "");
    assert_eq!(
        (published.status, published.header("access-control-allow-origin")),
        (200, "*")
    );
    assert!(!published.text.contains("\"d\""), "only public halves are shown");
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let keys = write("keys.json", &published.text);
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tabularium"));
        let done = command.args(["receipt", "verify"]).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let good = write("receipt.jws", &signed);
    let folder = world.server.folder();
    for (option, value) in [("--jwks", keys.as_path()), ("--data", folder)] {
        let (code, out, error) = run(&[
            good.as_os_str(),
            option.as_ref(),
            value.as_os_str(),
            "--patient".as_ref(),
            connected.patient.as_ref(),
        ]);
        assert_eq!(code, Some(0), "{error}");
        assert!(out.starts_with("The signature is good.\n"), "{out}");
        assert!(out.contains(&receipt_digest(&signed)), "{out}");
    }
    let (head, rest) = signed.split_once('.').unwrap();
    let payload = rest.split('.').next().unwrap();
    let swapped = if payload.as_bytes()[20] == b'A' { 'B' } else { 'A' };
    let changed = format!("{head}.{}{swapped}{}", &rest[..20], &rest[21..]);
    let changed = write("changed.jws", &changed);
    let (code, _, error) = run(&[changed.as_os_str(), "--jwks".as_ref(), keys.as_os_str()]);
    assert_eq!(code, Some(1));
    assert!(error.contains("changed"), "{error}");
    let other = write("other.json", r#"{"keys": []}"#);
    assert_eq!(
        run(&[good.as_os_str(), "--jwks".as_ref(), other.as_os_str()]).0,
        Some(1)
    );
    let nothing = write("nothing.jws", "nothing");
    assert_eq!(
        run(&[nothing.as_os_str(), "--jwks".as_ref(), keys.as_os_str()]).0,
        Some(2)
    );
    assert_eq!(
        run(&["missing.jws".as_ref(), "--jwks".as_ref(), keys.as_os_str()]).0,
        Some(2)
    );
    let (code, _, _) = run(&[
        good.as_os_str(),
        "--jwks".as_ref(),
        keys.as_os_str(),
        "--patient".as_ref(),
        "nobody".as_ref(),
    ]);
    assert_eq!(code, Some(3));
}

/// Wherever the program is killed, its next start finishes the requested erasure, and the receipt is complete.
#[test]
fn a_killed_service_finishes_every_expunge() {
    let people = kills::rounds(8) as u64;
    let mut chance = kills::chance(14);
    let world = World::new(people, Mode::Live);
    world.payer.turn(
        "all",
        &json!({"withhold": ["ExplanationOfBenefit"], "attachments": ["text"]}),
    );
    let address = lasting_address();
    let mut service = Some(Service::start(&world, &address));
    let connected: Vec<Connected> = (0..people).map(|person| world.connect("riverbend", person)).collect();
    for one in &connected {
        assert_eq!(world.end_of(one), JobState::Completed);
    }
    world.lake().refresh().unwrap();
    let rows: Vec<usize> = connected.iter().map(|one| world.all_rows(one).len()).collect();
    let copies = kind::is_sealed().then(|| Copies::of(&world, &connected));
    let mut jobs = Vec::new();
    for one in &connected {
        let asked = Expunge {
            consent: &one.consent,
            request: "r",
            imported: &[],
        };
        let Expunged::Accepted(job) = world.store().expunge(&asked).unwrap() else {
            panic!("not accepted")
        };
        jobs.push(job.id);
        std::thread::park_timeout(Duration::from_micros(chance.random_range(0..1_200_000)));
        service.take().unwrap().kill();
        service = Some(Service::start(&world, &address));
    }
    for ((one, job), rows) in connected.iter().zip(&jobs).zip(rows) {
        let receipt = || world.store().erasure_jobs().get(job).unwrap().unwrap().receipt;
        world.until("the receipt", || receipt().is_some());
        let claims = verified(&world, &receipt().unwrap());
        let resources = claims["resources"].as_object().unwrap().values();
        let resources: u64 = resources.map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(resources, rows as u64, "{claims}");
        // The service merges files meanwhile, and earlier snapshots' files contain the rows too.
        assert!(claims["rows"].as_u64().unwrap() >= resources, "{claims}");
        assert_eq!(claims["search"]["files"]["found"], 0);
        assert!(!claims["attachments"].as_array().unwrap().is_empty());
        world.lake().refresh().unwrap();
        assert!(is_erased(&world, one));
    }
    drop(service);
    for one in &connected {
        assert_eq!(files_with(&world.server.folder().join("data"), &one.patient), [""; 0]);
    }
    if let Some(copies) = copies {
        copies.check_unreadable(&world);
    }
}

/// Copies of a sealed lake's files from before an erasure.
struct Copies {
    folder: tempfile::TempDir,
    patients: Vec<String>,
}

impl Copies {
    /// Copies all files. They can be read now.
    fn of(world: &World, connected: &[Connected]) -> Copies {
        let copies = Copies {
            folder: tempfile::tempdir().unwrap(),
            patients: connected.iter().map(|one| one.patient.clone()).collect(),
        };
        for path in files_below(&world.server.folder().join("data")) {
            // The service merges files meanwhile.
            let _ = std::fs::copy(&path, copies.folder.path().join(path.file_name().unwrap()));
        }
        let (_, people, attachments) = copies.opened(world);
        assert_eq!((people, attachments > 0), (copies.patients.len(), true));
        copies
    }

    /// Checks that no key that is left opens a copy with records.
    fn check_unreadable(&self, world: &World) {
        let (records, people, attachments) = self.opened(world);
        assert_eq!((records, people, attachments), (0, 0, 0));
    }

    /// Tries every key of the lake on every copy. The numbers of readable records, of people in them, and of
    /// attachments whose key exists.
    fn opened(&self, world: &World) -> (usize, usize, usize) {
        let kek = kind::kek().load().unwrap();
        let keys = Keys::of(KeyStore::open(world.server.folder(), kek).unwrap());
        let ids = keys.ids().unwrap();
        let secrets: Vec<Vec<u8>> = ids.iter().map(|id| keys.key(id).unwrap().secret().to_vec()).collect();
        let (mut records, mut people, mut attachments) = (0, BTreeSet::new(), 0);
        for copy in files_below(self.folder.path()) {
            let name = copy.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".attachment") {
                // The name ends in the id of its key.
                attachments += usize::from(ids.iter().any(|id| name.contains(&id.to_string())));
                continue;
            }
            for text in kind::opened_by_any(&copy, &secrets).unwrap_or_default() {
                records += 1;
                people.extend(self.patients.iter().filter(|patient| text.contains(patient.as_str())));
            }
        }
        (records, people.len(), attachments)
    }
}

/// Imported records have no flow's consent. The operator's token for the person works too.
#[test]
fn imported_records_go_by_the_token_of_their_patient() {
    let person = |id: &str| {
        [
            json!({"resourceType": "Patient", "id": id, "name": [{"family": format!("Family-{id}")}]}),
            json!({"resourceType": "Observation", "id": format!("{id}-o"), "status": "final", "code": {"text": "x"},
                "subject": {"reference": format!("Patient/{id}")}}),
        ]
    };
    let records = [person("anna"), person("bert")].concat();
    let server = crate::harness::server::Server::start(&records);
    let (token, other) = (server.patient_token("anna"), server.patient_token("bert"));
    let bearer = format!("Bearer {token}");
    let post = |path: &str| server.send("POST", path, &[("authorization", &bearer)], "");
    assert_eq!(post("/fhir/Patient/bert/$expunge").status, 404);
    let accepted = post("/fhir/Patient/anna/$expunge");
    assert_eq!(accepted.status, 200, "{}", accepted.text);
    let application = server.application_token();
    assert_eq!(server.get("/fhir/Observation/anna-o", &token).status, 404);
    assert_eq!(server.get("/fhir/Observation/anna-o", &application).status, 404);
    assert_eq!(server.get("/fhir/Observation/bert-o", &other).status, 200);
    let rules = crate::harness::server::rules();
    tabularium::sync::carry_out_erasures(&server.store, &server.lake, 0, &rules).unwrap();
    let answer = server.get(&status(&accepted), &token);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let keys = server.store.es256_keys().all(KeyPurpose::Receipt).unwrap();
    let outcome = answer.json();
    let claims = verify_receipt(text(extension(&outcome, "erasure-receipt"), "valueString"), &keys).unwrap();
    assert_eq!(claims["rows"], 2);
    assert_eq!(claims["resources"], json!({"Observation": 1, "Patient": 1}));
    assert!(is_about(&claims, "anna") && !is_about(&claims, "bert"));
    let data = server.folder().join("data");
    for what in ["Family-anna", "anna-o", "Patient/anna"] {
        assert_eq!(files_with(&data, what), [""; 0], "{what}");
    }
    assert_eq!(server.get("/fhir/Observation/bert-o", &other).status, 200);
}
