//! The first sync of a person with 5,000 resources from a sandbox in this process: claims and the resources that they
//! refer to. The sandbox generates about 500 resources per person, so the synced person gets the records of many.
//!
//! The time runs from the worker's start to the end of the job that it finds. It includes the source's answers, which
//! come from memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use criterion::{BatchSize, Criterion, Throughput};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabularium::consent::{
    Actor, AuthorizationType, Clock, Credential, EndpointStatus, Grant, JobState, LOCAL_APPLICATION, NewAuthorization,
    NewCode, NewConsent, NewEndpoint, Organization, Origin, Store, Tokens, Usage,
};
use tabularium::lake::{Lake, Mode};
use tabularium::sandbox::Population;
use tabularium::sandbox::payer::CLIENT_ID;
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tabularium::sync::{Settings, Worker};

#[path = "../../tests/harness/servers/payer.rs"]
#[allow(dead_code)]
mod payer;

use payer::{Payer, parameter};

/// The seed of the tests' sandbox.
const SEED: u64 = 1;
const PEOPLE: u64 = 200;
const RESOURCES: usize = 5_000;
const SOURCE: &str = "lakeshore";
/// The source's resource types of a person, including referenced ones.
const TYPES: [&str; 6] = [
    "Condition",
    "Coverage",
    "Encounter",
    "ExplanationOfBenefit",
    "MedicationRequest",
    "Procedure",
];
const SCOPE: &str = "launch/patient offline_access patient/*.rs";
const REDIRECT: &str = "http://127.0.0.1:9/back";
const BASE_URL: &str = "https://records.example";
const VERIFIER: &str = "an-application-verifier-of-forty-three-letters";

/// A source with a person who has many records.
struct Source {
    payer: Payer,
    /// The records as the source sends them.
    records: Vec<String>,
}

/// A service with an empty lake and a due job.
struct Service {
    store: Arc<Store>,
    lake: Lake,
    consent: String,
    authorization: String,
    worker: Option<Worker>,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

pub(crate) fn benches(criterion: &mut Criterion) {
    let source = Source::make();
    let mut group = criterion.benchmark_group("sync");
    group.sample_size(10);
    group.throughput(Throughput::Elements(source.records.len() as u64));
    let mut brought = 0;
    group.bench_function("first-of-5,000", |bencher| {
        let routine = |mut service: Service| {
            service.sync();
            service
        };
        bencher.iter_batched(|| Service::connected(&source), routine, BatchSize::PerIteration);
        let mut service = Service::connected(&source);
        service.sync();
        brought = service.brought();
    });
    group.bench_function("rules-of-5,000", |bencher| {
        bencher.iter(|| crate::ingest::normalize::normalize(&source.records));
    });
    group.finish();
    if brought > 0 {
        println!("sync/first-of-5,000 stores {brought} records, what is made from claims included");
    }
}

impl Source {
    fn make() -> Source {
        let payer = Payer::start(PEOPLE);
        let population = Population::new(SEED, PEOPLE);
        let (person, own) = (payer.person(0), population.patient_id(0));
        let mut records = Vec::new();
        for index in 0..PEOPLE {
            let patient = format!("Patient/{}", population.patient_id(index));
            for record in population.person(index).iter() {
                if records.len() < RESOURCES && TYPES.contains(&record.resource_type) {
                    let text = record.json.replace(&patient, &format!("Patient/{own}"));
                    if index > 0 {
                        let resource: Value = serde_json::from_str(&text).unwrap();
                        payer.put(SOURCE, &person.user, &resource);
                    }
                    records.push(text);
                }
            }
        }
        assert_eq!(records.len(), RESOURCES, "{PEOPLE} people are too few");
        Source { payer, records }
    }

    /// The token response for the person, who agrees to everything.
    fn granted(&self) -> Value {
        let (url, verifier) = self.payer.authorization_url(SOURCE, REDIRECT, SCOPE);
        let back = self.payer.log_in(&url, &self.payer.person(0).user);
        let code = parameter(&back, "code").unwrap();
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", &verifier),
            ("client_id", CLIENT_ID),
        ];
        self.payer.form(&format!("/{SOURCE}/token"), &form).value()
    }
}

impl Service {
    /// A service after the person connected the source and the application exchanged the code.
    fn connected(source: &Source) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        let store = Arc::new(Store::open(folder.path(), Clock::System).unwrap());
        store.applications().register(LOCAL_APPLICATION).unwrap();
        list(&store, &source.payer.fhir_base(SOURCE));
        store
            .redirect_uris()
            .add(LOCAL_APPLICATION, REDIRECT, Actor::Operator)
            .unwrap();
        let (consent, authorization) = authorize(&store, &lake, &source.granted());
        exchange(&store, &lake, &consent);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        Service {
            store,
            lake,
            consent,
            authorization,
            worker: None,
            runtime,
            _folder: folder,
        }
    }

    /// Runs a worker until the end of the job.
    fn sync(&mut self) {
        let client = Client::new(Guard::Private, HttpLimits::default()).unwrap();
        let (store, lake, settings) = (self.store.clone(), self.lake.clone(), Settings::default());
        let entered = self.runtime.enter();
        self.worker = Some(Worker::start(store, lake, client, BASE_URL, settings));
        drop(entered);
        let begun = Instant::now();
        loop {
            let job = self
                .store
                .jobs()
                .of_authorization(&self.authorization)
                .unwrap()
                .remove(0);
            if !job.state.is_open() {
                assert_eq!(job.state, JobState::Completed, "{:?}", job.failure);
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "the sync does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The number of records of the sync.
    fn brought(&self) -> u64 {
        let jobs = self.store.jobs().list(Some(&self.consent), 1).unwrap();
        jobs[0].report.counts.iter().map(|(_, records)| records).sum()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.runtime.block_on(worker.stop());
        }
    }
}

fn list(store: &Store, fhir_base: &str) {
    let organization = Organization {
        id: SOURCE.to_owned(),
        name: SOURCE.to_owned(),
        note: String::new(),
        organization_type: "PAYER".to_owned(),
    };
    store.organizations().save(&organization, Actor::Operator).unwrap();
    let held = tabularium::sandbox::payer::Organization::named(SOURCE).unwrap();
    let resources: Vec<String> = held.types().into_iter().map(str::to_owned).collect();
    let endpoint = NewEndpoint {
        id: Some(SOURCE),
        organization: SOURCE,
        name: SOURCE,
        mode: Mode::Live,
        label: &[],
        authorization_type: AuthorizationType::Oauth,
        refreshable: true,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &resources,
        fhir_base,
        configuration: None,
        client_id: CLIENT_ID,
        client_secret: None,
        scope: SCOPE,
        identifier_system: "urn:sandbox:lakeshore",
    };
    store.endpoints().save(&endpoint, Actor::Operator).unwrap();
}

/// Creates a consent with an authorization that the source granted. Returns both ids.
fn authorize(store: &Store, lake: &Lake, granted: &Value) -> (String, String) {
    let client = store.clients().of(LOCAL_APPLICATION, Mode::Live).unwrap();
    let new = NewConsent {
        client: &client.id,
        application: LOCAL_APPLICATION,
        mode: Mode::Live,
        made_by: Origin::Oauth,
        external_id: Some("user"),
        usage: Usage::Multiple,
        scope: "launch/patient offline_access",
    };
    let consent = store.consents().create(&new, |id| lake.owner_of_consent(id)).unwrap();
    let new = NewAuthorization {
        consent: &consent.id,
        endpoint: SOURCE,
        authorization_type: AuthorizationType::Oauth,
        usage: Usage::Multiple,
        identity_provider: None,
    };
    let authorization = store.authorizations().create(&new).unwrap().id;
    store.authorizations().send_to_source(&authorization).unwrap();
    let source_patient = granted["patient"].as_str().unwrap();
    let patient = lake.synced_id(consent.owner.unwrap(), SOURCE, "Patient", source_patient);
    let grant = Grant {
        patient: &patient,
        source_patient,
        scope_requested: SCOPE,
        scope_granted: granted["scope"].as_str().unwrap(),
        refreshable: true,
        max_auth_until: None,
    };
    store.authorizations().grant(&authorization, &grant).unwrap();
    let credential = Credential {
        access_token: granted["access_token"].as_str().unwrap().to_owned(),
        expires_at: None,
        refresh_token: None,
        assertion: None,
    };
    store.credentials().save(&authorization, &credential).unwrap();
    (consent.id, authorization)
}

/// Exchanges a code for tokens, which creates the job of the first sync.
fn exchange(store: &Arc<Store>, lake: &Lake, consent: &str) {
    let client = store.clients().of(LOCAL_APPLICATION, Mode::Live).unwrap();
    let new = NewCode {
        consent,
        client: &client.id,
        redirect_uri: REDIRECT,
        challenge: &URL_SAFE_NO_PAD.encode(Sha256::digest(VERIFIER)),
    };
    let code = store.codes().issue(&new).unwrap();
    let caller = store.clients().authenticate(&client.id, None).unwrap();
    let tokens = Tokens::new(store.clone(), lake.clone(), BASE_URL);
    tokens.exchange_code(&caller, &code, REDIRECT, VERIFIER).unwrap();
}
