//! A service with a worker, payers, and people who connect them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::Digest;
use tabularium::consent::{
    Actor, AuthorizationType, Credential, EndpointStatus, Grant, Job, JobState, LOCAL_APPLICATION, NewAuthorization,
    NewCode, NewConsent, NewEndpoint, Organization as Listed, Origin, Store, Usage,
};
use tabularium::http::Limits;
use tabularium::ingest::Normalization;
use tabularium::lake::{Lake, LakeOptions, Mode};
use tabularium::normalize::{Day, Knowledge};
use tabularium::sandbox::payer::{CLIENT_ID, Organization};
use tabularium::sync::client::{Client, Guard, HttpLimits, Registration};
use tabularium::sync::{Pace, Settings, Worker};
use tokio::runtime::Runtime;
use url::Url;

use crate::harness::kind;
use crate::harness::payer::{Payer, parameter};
use crate::harness::server::{Answer, Server};
use crate::harness::stored::{Identity, Stored, stored};

/// The requested scope.
const SCOPE: &str = "launch/patient offline_access patient/*.rs";
pub(super) const REDIRECT: &str = "https://app.example/back";
pub(super) const VERIFIER: &str = "an-application-verifier-of-forty-three-letters";
/// The types of shared resources.
const NOBODYS: [&str; 6] = [
    "InsurancePlan",
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];
/// Even on a slow machine, anything that takes longer hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(900);

/// A service, payers and a worker.
pub(super) struct World {
    pub(super) payer: Payer,
    pub(super) server: Server,
    pub(super) client: Client,
    runtime: Runtime,
    worker: Mutex<Option<Worker>>,
    mode: Mode,
    /// A connection to the store's file.
    file: Mutex<rusqlite::Connection>,
}

/// A source that a person has connected.
pub(super) struct Connected {
    pub(super) consent: String,
    pub(super) authorization: String,
    pub(super) owner: i64,
    /// The id of our Patient; the next field is the source's.
    pub(super) patient: String,
    pub(super) source_patient: String,
    /// The application's patient token.
    pub(super) token: String,
    /// The source's access token.
    pub(super) source_token: String,
}

impl World {
    /// A service over an empty lake, without a worker yet.
    pub(super) fn new(patients: u64, mode: Mode) -> World {
        let folder = tempfile::tempdir().unwrap();
        let lake = kind::open_or_create(folder.path());
        World::over(folder, lake, patients, mode)
    }

    /// A service over an empty sealed lake, whichever kind is tested.
    pub(super) fn sealed(patients: u64) -> World {
        let folder = tempfile::tempdir().unwrap();
        let options = LakeOptions {
            sealed: Some(true),
            kek: kind::kek(),
            ..LakeOptions::default()
        };
        let lake = Lake::create_with(folder.path(), options).unwrap();
        World::over(folder, lake, patients, Mode::Live)
    }

    /// The same as [`World::new`] for live mode, with signed addresses of attachments.
    pub(super) fn signing(patients: u64) -> World {
        let folder = tempfile::tempdir().unwrap();
        let lake = kind::open_or_create(folder.path());
        World::around(Server::signing(folder, lake), patients, Mode::Live)
    }

    fn over(folder: tempfile::TempDir, lake: Lake, patients: u64, mode: Mode) -> World {
        World::around(Server::over(folder, lake, Limits::default()), patients, mode)
    }

    fn around(server: Server, patients: u64, mode: Mode) -> World {
        let file = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
        file.busy_timeout(PATIENCE).unwrap();
        let world = World {
            payer: Payer::start(patients),
            server,
            file: Mutex::new(file),
            client: client(),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap(),
            worker: Mutex::new(None),
            mode,
        };
        world.store().applications().register(LOCAL_APPLICATION).unwrap();
        world
            .store()
            .redirect_uris()
            .add(LOCAL_APPLICATION, REDIRECT, Actor::Operator)
            .unwrap();
        for id in ["lakeshore", "cedarway", "hilltop", "riverbend"] {
            world.list(id);
        }
        world
    }

    /// The same with a worker.
    pub(super) fn working(patients: u64) -> World {
        let world = World::new(patients, Mode::Live);
        world.work();
        world
    }

    pub(super) fn store(&self) -> &Store {
        &self.server.store
    }

    pub(super) fn lake(&self) -> &Lake {
        &self.server.lake
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// The rules of normalization, without a terminology.
    pub(super) fn rules(&self) -> Normalization {
        Normalization {
            knowledge: Knowledge::default(),
            today: Day(0),
            tag_system_base: format!("{}/tags", self.base_url()),
            observer: None,
            dangling: BTreeMap::new(),
        }
    }

    /// Starts a worker.
    pub(super) fn work(&self) {
        self.work_at(Settings {
            jobs: 8,
            requests: 4,
            pace: pace(),
            ..Settings::default()
        });
    }

    pub(super) fn work_at(&self, settings: Settings) {
        let _runtime = self.runtime.enter();
        let (store, lake) = (self.server.store.clone(), self.server.lake.clone());
        let worker = Worker::start(store, lake, self.client.clone(), &self.base_url(), settings);
        *self.worker.lock().unwrap() = Some(worker);
    }

    /// Stops the worker.
    pub(super) fn rest(&self) {
        if let Some(worker) = self.worker.lock().unwrap().take() {
            self.runtime.block_on(worker.stop());
        }
    }

    /// Lists one of the sandbox's organizations in the directory.
    fn list(&self, id: &str) {
        let organization = Organization::named(id).unwrap();
        let listed = Listed {
            id: id.to_owned(),
            name: organization.name.to_owned(),
            note: String::new(),
            organization_type: "PAYER".to_owned(),
        };
        self.store().organizations().save(&listed, Actor::Operator).unwrap();
        let resources: Vec<String> = organization.types().into_iter().map(str::to_owned).collect();
        let endpoint = NewEndpoint {
            id: Some(id),
            organization: id,
            name: id,
            mode: self.mode,
            label: &[organization.name.to_owned()],
            authorization_type: AuthorizationType::Oauth,
            refreshable: organization.refreshable,
            refresh_valid_for: None,
            max_auth_period: None,
            status: EndpointStatus::Live,
            resources: &resources,
            fhir_base: &self.payer.fhir_base(id),
            configuration: None,
            client_id: CLIENT_ID,
            client_secret: organization.secret,
            scope: SCOPE,
            identifier_system: &system(id),
        };
        self.store().endpoints().save(&endpoint, Actor::Operator).unwrap();
    }

    /// A person connects an organization, and the application gets its tokens.
    pub(super) fn connect(&self, organization: &str, person: u64) -> Connected {
        self.connect_as(organization, person, Usage::Multiple)
    }

    pub(super) fn connect_as(&self, organization: &str, person: u64, usage: Usage) -> Connected {
        let mut connected = self.authorize(organization, person, usage);
        let code = self.code(&connected);
        let client = self.store().clients().of(LOCAL_APPLICATION, self.mode).unwrap();
        let caller = self.store().clients().authenticate(&client.id, None).unwrap();
        let granted = self.server.tokens.exchange_code(&caller, &code, REDIRECT, VERIFIER);
        connected.token = granted.unwrap().access.token;
        connected
    }

    /// A person connects an organization; the application has no token yet.
    pub(super) fn authorize(&self, organization: &str, person: u64, usage: Usage) -> Connected {
        let store = self.store();
        let client = store.clients().of(LOCAL_APPLICATION, self.mode).unwrap();
        let consent = store
            .consents()
            .create(
                &NewConsent {
                    client: &client.id,
                    application: LOCAL_APPLICATION,
                    mode: self.mode,
                    made_by: Origin::Oauth,
                    external_id: Some("user"),
                    usage,
                    scope: "launch/patient offline_access",
                },
                |id| self.lake().owner_of_consent(id),
            )
            .unwrap();
        self.add_source(&consent.id, organization, person, usage)
    }

    /// A person connects another organization in the session of a consent.
    pub(super) fn add_source(&self, consent: &str, organization: &str, person: u64, usage: Usage) -> Connected {
        let store = self.store();
        let consent = store.consents().get(consent).unwrap().unwrap();
        let authorization = store
            .authorizations()
            .create(&NewAuthorization {
                consent: &consent.id,
                endpoint: organization,
                authorization_type: AuthorizationType::Oauth,
                usage,
                identity_provider: None,
            })
            .unwrap();
        let granted = self.log_in(organization, person);
        store.authorizations().send_to_source(&authorization.id).unwrap();
        let source_patient = granted.patient.clone().unwrap();
        let owner = consent.owner.unwrap();
        let patient = self.lake().synced_id(owner, organization, "Patient", &source_patient);
        store
            .authorizations()
            .grant(
                &authorization.id,
                &Grant {
                    patient: &patient,
                    source_patient: &source_patient,
                    scope_requested: SCOPE,
                    scope_granted: granted.scope.as_deref().unwrap(),
                    refreshable: granted.refresh_token.is_some(),
                    max_auth_until: None,
                },
            )
            .unwrap();
        let now = store.clock().now();
        let credential = Credential {
            access_token: granted.access_token.clone(),
            expires_at: granted.expires_in.map(|seconds| now + seconds),
            refresh_token: granted.refresh_token.clone(),
            assertion: None,
        };
        store.credentials().save(&authorization.id, &credential).unwrap();
        Connected {
            consent: consent.id,
            authorization: authorization.id,
            owner,
            patient,
            source_patient,
            token: String::new(),
            source_token: granted.access_token,
        }
    }

    /// A person goes through an organization's pages, and the service exchanges the code.
    pub(super) fn log_in(&self, organization: &str, person: u64) -> tabularium::sync::client::Grant {
        let secret = Organization::named(organization).unwrap().secret;
        let registration = Registration {
            client_id: CLIENT_ID.to_owned(),
            client_secret: secret.map(str::to_owned),
            scope: SCOPE.to_owned(),
            client_auth: None,
            secret_at: None,
        };
        let (base, back) = (
            self.payer.fhir_base(organization),
            "http://127.0.0.1:9/connect/callback/x",
        );
        let configuration = self.runtime.block_on(self.client.discover(&base)).unwrap();
        let redirect = self
            .client
            .redirect(&configuration, &registration, back, Some(&base))
            .unwrap();
        let end: Url = self.payer.log_in(&redirect.url, &self.payer.person(person).user);
        assert_eq!(parameter(&end, "state").unwrap(), redirect.state);
        let code = parameter(&end, "code").unwrap_or_else(|| panic!("no code in {end}"));
        let exchanged = self
            .client
            .exchange(&configuration, &registration, back, &code, &redirect.verifier);
        self.runtime.block_on(exchanged).unwrap()
    }

    /// Finishes a flow and exchanges its code over HTTP.
    pub(super) fn tokens(&self, connected: &Connected) -> Value {
        let client = self.store().clients().of(LOCAL_APPLICATION, self.mode).unwrap();
        let body = json!({"grant_type": "authorization_code", "code": self.code(connected), "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER, "client_id": &*client.id});
        let answer = self.server.post("/oauth/token", &[], &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// Refreshes tokens at `/oauth/token` or `/link/token`.
    pub(super) fn refresh(&self, path: &str, tokens: &Value) -> Answer {
        let client = self.store().clients().of(LOCAL_APPLICATION, self.mode).unwrap();
        let body =
            json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": &*client.id});
        self.server.post(path, &[], &body)
    }

    /// Finishes a flow. Returns the application's code.
    pub(super) fn code(&self, connected: &Connected) -> String {
        let challenge = challenge();
        let client = self.store().clients().of(LOCAL_APPLICATION, self.mode).unwrap();
        let code = self.store().codes().issue(&NewCode {
            consent: &connected.consent,
            client: &client.id,
            redirect_uri: REDIRECT,
            challenge: &challenge,
        });
        code.unwrap()
    }

    /// The source of an application's tokens.
    pub(super) fn connected(&self, granted: &Value) -> Connected {
        let token = text(granted, "access_token");
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let consent = self.store().consents().get(text(&claims, "sub")).unwrap().unwrap();
        let authorization = self
            .store()
            .authorizations()
            .of_consent(&consent.id)
            .unwrap()
            .pop()
            .unwrap();
        Connected {
            consent: consent.id,
            owner: consent.owner.unwrap(),
            patient: authorization.patient.unwrap(),
            source_patient: authorization.source_patient.unwrap(),
            authorization: authorization.id,
            token: token.to_owned(),
            source_token: String::new(),
        }
    }

    /// Changes a row of the store directly.
    pub(super) fn sql(&self, sql: &str, id: &str) {
        let store = rusqlite::Connection::open(self.server.folder().join("service.sqlite")).unwrap();
        store.busy_timeout(PATIENCE).unwrap();
        assert_eq!(store.execute(sql, [id]).unwrap(), 1);
    }

    /// The number from a query.
    pub(super) fn count(&self, sql: &str) -> i64 {
        let file = self.file.lock().unwrap();
        let mut statement = file.prepare_cached(sql).unwrap();
        statement.query_row([], |row| row.get(0)).unwrap()
    }

    /// The state of an authorization's newest sync. Retries do not count.
    pub(super) fn job(&self, connected: &Connected) -> JobState {
        let jobs = self.store().jobs().of_authorization(&connected.authorization).unwrap();
        jobs.iter().find(|job| !job.is_retry()).unwrap().state
    }

    /// The retries of an authorization, newest first.
    pub(super) fn retries(&self, connected: &Connected) -> Vec<Job> {
        let jobs = self.store().jobs().of_authorization(&connected.authorization).unwrap();
        jobs.into_iter().filter(Job::is_retry).collect()
    }

    /// Waits until a condition holds.
    pub(super) fn until(&self, what: &str, so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !so() {
            assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Waits for the newest job of an authorization to end.
    pub(super) fn end_of(&self, connected: &Connected) -> JobState {
        self.until("the end of a sync", || !self.job(connected).is_open());
        self.job(connected)
    }

    /// Connects, and waits until the records are there.
    pub(super) fn synced(&self, organization: &str, person: u64) -> Connected {
        let connected = self.connect(organization, person);
        let end = self.end_of(&connected);
        assert_eq!(end, JobState::Completed, "{:?}", self.audit(&connected));
        connected
    }

    /// The audit entries of a consent, newest first.
    pub(super) fn audit(&self, connected: &Connected) -> Vec<String> {
        let entries = self.store().audit().newest(Some(&connected.consent), 1_000).unwrap();
        let line = |entry: &tabularium::consent::AuditEntry| format!("{} {}", entry.action, entry.detail);
        entries.iter().map(line).collect()
    }

    pub(super) fn get(&self, path: &str, token: &str) -> Answer {
        self.server.get(path, token)
    }

    /// The number of a type's resources that a token finds.
    pub(super) fn total(&self, resource_type: &str, token: &str) -> u64 {
        let answer = self.get(&format!("/fhir/{resource_type}?_summary=count"), token);
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["total"].as_u64().unwrap()
    }

    /// `Type/id` of a source's records of a patient: the granted own records, and the shared ones that they refer to.
    pub(super) fn names_at(&self, organization: &str, patient: &str, token: &str) -> BTreeSet<String> {
        let all = self.records_at(organization, patient, token);
        let all: BTreeMap<String, Value> = all.into_iter().map(|record| (named(&record), record)).collect();
        let is_nobodys = |name: &str| {
            NOBODYS
                .iter()
                .any(|resource_type| name.split('/').next() == Some(resource_type))
        };
        let own = all.keys().filter(|name| !is_nobodys(name));
        let mut names: BTreeSet<String> = own.cloned().collect();
        let mut open: Vec<String> = names.iter().cloned().collect();
        while let Some(record) = open.pop().and_then(|name| all.get(&name)) {
            for name in relative(record) {
                if all.contains_key(&name) && names.insert(name.clone()) {
                    open.push(name);
                }
            }
        }
        names
    }

    /// The rows of a consent that came from its sources.
    pub(super) fn rows(&self, connected: &Connected) -> Vec<(Identity, Stored)> {
        let mut rows = self.all_rows(connected);
        rows.retain(|(_, row)| !is_generated(row));
        rows
    }

    /// The rows of a consent that normalization generated.
    pub(super) fn generated(&self, connected: &Connected) -> Vec<(Identity, Stored)> {
        let mut rows = self.all_rows(connected);
        rows.retain(|(_, row)| is_generated(row));
        rows
    }

    /// The rows of a consent.
    pub(super) fn all_rows(&self, connected: &Connected) -> Vec<(Identity, Stored)> {
        let mut rows: Vec<_> = stored(self.lake()).into_iter().collect();
        rows.retain(|(_, row)| row.owner == connected.owner);
        rows
    }

    /// All of a source's records of a person, by its `$everything` and the references in the result.
    pub(super) fn record_of(&self, organization: &str, connected: &Connected) -> Vec<Value> {
        self.records_at(organization, &connected.source_patient, &connected.source_token)
    }

    fn records_at(&self, organization: &str, patient: &str, token: &str) -> Vec<Value> {
        let (base, token) = (self.payer.fhir_base(organization), Some(token));
        let mut next = Some(format!("{base}/Patient/{patient}/$everything?_count=1000"));
        let mut records: Vec<Value> = Vec::new();
        while let Some(url) = next.take() {
            let reply = self.payer.get(&url, token);
            assert_eq!(reply.status, 200, "{}", reply.text);
            let mut page = reply.value();
            let entries = page["entry"].as_array_mut().into_iter().flatten();
            records.extend(entries.map(|entry| entry["resource"].take()));
            let links = page["link"].as_array().into_iter().flatten();
            let mut links = links.filter(|link| link["relation"] == "next");
            next = links.next().map(|link| link["url"].as_str().unwrap().to_owned());
        }
        let mut asked: HashSet<String> = records.iter().map(named).collect();
        let mut at = 0;
        while at < records.len() {
            for name in relative(&records[at]) {
                if asked.insert(name.clone()) {
                    let reply = self.payer.get(&format!("{base}/{name}"), token);
                    if reply.status == 200 {
                        records.push(reply.value());
                    }
                }
            }
            at += 1;
        }
        records
    }

    /// The expected stored form of a source's record, without version and date.
    pub(super) fn expected(&self, organization: &str, connected: &Connected, record: &Value) -> Value {
        let (resource_type, id) = (text(record, "resourceType"), text(record, "id"));
        let mut expected = record.clone();
        let named = |name: &str| {
            let (resource_type, id) = name.split_once('/').unwrap();
            format!(
                "{resource_type}/{}",
                self.lake().synced_id(connected.owner, organization, resource_type, id)
            )
        };
        refer(&mut expected, &named);
        expected["id"] = json!(self.lake().synced_id(connected.owner, organization, resource_type, id));
        let meta = &mut expected["meta"];
        if meta.is_null() {
            *meta = json!({});
        }
        let meta = meta.as_object_mut().unwrap();
        meta.remove("versionId");
        meta.remove("lastUpdated");
        meta.insert(
            "source".to_owned(),
            json!(format!("{}/{resource_type}/{id}", self.payer.fhir_base(organization))),
        );
        let tag = |name: &str, code: &str| json!({"system": format!("{}/tags/{name}", self.base_url()), "code": code});
        let mode = if self.mode == Mode::Live { "LIVE" } else { "TEST" };
        let ours = [
            tag("PatientAccessTokenId", &connected.authorization),
            tag("EndpointId", organization),
            tag("ApplicationId", LOCAL_APPLICATION),
            tag("PatientAuthorizationMode", mode),
        ];
        let tags = meta.entry("tag").or_insert(json!([]));
        tags.as_array_mut().unwrap().extend(ours);
        if has_identifier(resource_type) {
            let identifiers = expected
                .as_object_mut()
                .unwrap()
                .entry("identifier")
                .or_insert(json!([]));
            let ours = json!({"system": system(organization), "value": id});
            identifiers.as_array_mut().unwrap().push(ours);
        }
        expected
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.rest();
    }
}

/// The S256 challenge of [`VERIFIER`].
pub(super) fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(VERIFIER))
}

/// Short waits for tests.
pub(super) fn pace() -> Pace {
    Pace {
        first: Duration::from_millis(5),
        max_wait: Duration::from_secs(3),
        tries: 4,
        attempts: 6,
        again: 0,
    }
}

pub(super) fn client() -> Client {
    Client::new(Guard::Private, HttpLimits::default()).unwrap()
}

pub(super) fn system(organization: &str) -> String {
    format!("urn:sandbox:{organization}")
}

pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// Whether normalization generated a row.
pub(super) fn is_generated(row: &Stored) -> bool {
    let resource: Value = serde_json::from_str(&row.resource).unwrap();
    let mut tags = resource["meta"]["tag"].as_array().into_iter().flatten();
    tags.any(|tag| text(tag, "system").ends_with("/GeneratedBy"))
}

/// The `Type/id` of a record.
fn named(record: &Value) -> String {
    format!("{}/{}", text(record, "resourceType"), text(record, "id"))
}

fn has_identifier(resource_type: &str) -> bool {
    let type_id = tabularium::fhir::facts().lookup(resource_type).unwrap();
    tabularium::fhir::facts().element(type_id, "identifier").is_some()
}

/// The relative references of a record.
fn relative(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(relative).collect(),
        Value::Object(map) => {
            let of = |(key, child): (&String, &Value)| match child {
                Value::String(text) if is_relative(key, text) => vec![text.clone()],
                child => relative(child),
            };
            map.iter().flat_map(of).collect()
        }
        _ => Vec::new(),
    }
}

fn is_relative(key: &str, text: &str) -> bool {
    key == "reference" && !text.starts_with(['#', 'u', 'h'])
}

/// Replaces the relative references of a record.
fn refer(value: &mut Value, named: &dyn Fn(&str) -> String) {
    visit(value, &mut |reference| *reference = named(reference));
}

fn visit(value: &mut Value, found: &mut dyn FnMut(&mut String)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| visit(item, found)),
        Value::Object(map) => {
            for (key, child) in map {
                match child {
                    Value::String(text) if is_relative(key, text) => found(text),
                    child => visit(child, found),
                }
            }
        }
        _ => {}
    }
}
