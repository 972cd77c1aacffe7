//! The token endpoints over HTTP, by a server in this process: introspection by one client and by many at the same
//! time, and all ways of issuing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use criterion::{BatchSize, Criterion, Throughput};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tabularium::consent::{
    Actor, AuthorizationType, Clock, EndpointStatus, Grant, NewApplication, NewAuthorization, NewCode, NewConsent,
    NewEndpoint, NewKeys, Organization, Origin, Store, Usage,
};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::http::{Limits, Options, Pages, Service, serve};
use tabularium::lake::{Lake, Mode};
use tabularium::patient::pdf::Reader;
use tabularium::sync::client::{self, Guard, HttpLimits};
use tokio::net::TcpListener;

use crate::sample::Sample;

const REDIRECT_URI: &str = "https://app.example/callback";
/// The number of introspected tokens.
const CONSENTS: usize = 200;
const CLIENTS: usize = 8;

struct Served {
    address: SocketAddr,
    store: Arc<Store>,
    lake: Lake,
    keys: NewKeys,
    /// Stops the server when it is dropped.
    _runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// A code with its verifier.
struct Code {
    code: String,
    verifier: String,
}

/// A kept-alive connection.
struct Client(TcpStream);

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let served = served(sample);
    let tokens: Vec<Value> = (0..CONSENTS).map(|_| served.tokens()).collect();
    let introspections: Vec<String> = tokens.iter().map(introspection).collect();
    let mut group = criterion.benchmark_group("tokens");
    group.throughput(Throughput::Elements(1));
    let mut nth = introspections.iter().cycle();
    group.bench_function("introspect", |bencher| {
        let mut client = Client::of(&served);
        bencher.iter(|| client.ask(nth.next().unwrap()));
    });
    group.bench_function("introspect-by-8-clients", |bencher| {
        bencher.iter_custom(|iterations| at_once(&served, &introspections, iterations));
    });
    let basic = STANDARD.encode(format!(
        "{}:{}",
        served.keys.publishable,
        served.keys.secret.as_ref().unwrap()
    ));
    let credentials = post(
        "/oauth/token",
        &format!("Authorization: Basic {basic}\r\n"),
        "grant_type=client_credentials",
    );
    group.bench_function("issue/client-credentials", |bencher| {
        let mut client = Client::of(&served);
        bencher.iter(|| client.ask(&credentials));
    });
    group.bench_function("issue/code", |bencher| {
        let mut client = Client::of(&served);
        let setup = || served.exchange(&served.code());
        bencher.iter_batched(setup, |request| client.ask(&request), BatchSize::PerIteration);
    });
    let mut refresh = tokens[0]["refresh_token"].as_str().unwrap().to_owned();
    group.bench_function("issue/refresh", |bencher| {
        let mut client = Client::of(&served);
        bencher.iter(|| {
            let body = format!(
                "grant_type=refresh_token&refresh_token={refresh}&client_id={}",
                served.keys.publishable
            );
            let answer: Value = serde_json::from_slice(&client.ask(&post("/oauth/token", "", &body))).unwrap();
            refresh = answer["refresh_token"].as_str().unwrap().to_owned();
        });
    });
    group.finish();
}

/// Runs this many introspections by several clients at the same time.
fn at_once(served: &Served, requests: &[String], iterations: u64) -> Duration {
    let (next, most) = (AtomicUsize::new(0), usize::try_from(iterations).unwrap());
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::of(served)).collect();
    let started = Instant::now();
    std::thread::scope(|scope| {
        for client in &mut clients {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= most {
                        return;
                    }
                    client.ask(&requests[at % requests.len()]);
                }
            });
        }
    });
    started.elapsed()
}

fn introspection(tokens: &Value) -> String {
    let token = tokens["access_token"].as_str().unwrap();
    format!("GET /oauth/introspect HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n")
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    let content_type = "application/x-www-form-urlencoded";
    format!(
        "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

impl Client {
    fn of(served: &Served) -> Client {
        let stream = TcpStream::connect(served.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(stream)
    }

    /// The body of the response, which must be successful.
    fn ask(&mut self, request: &str) -> Vec<u8> {
        self.0.write_all(request.as_bytes()).unwrap();
        let (mut bytes, mut block) = (Vec::new(), [0u8; 16 * 1_024]);
        loop {
            let read = self.0.read(&mut block).unwrap();
            assert!(read > 0, "the server hung up");
            bytes.extend_from_slice(&block[..read]);
            let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let text = std::str::from_utf8(&bytes[..head]).unwrap().to_ascii_lowercase();
            assert!(text.starts_with("http/1.1 200"), "{text}");
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .unwrap();
            let whole = head + 4 + length.parse::<usize>().unwrap();
            if bytes.len() >= whole {
                return bytes.split_off(head + 4);
            }
        }
    }
}

impl Served {
    /// The state after a patient has finished the flow.
    fn code(&self) -> Code {
        let (store, client) = (&self.store, self.keys.publishable.as_str());
        let new = NewConsent {
            client,
            application: "app",
            mode: Mode::Live,
            made_by: Origin::Oauth,
            external_id: Some("user"),
            usage: Usage::Multiple,
            scope: "launch/patient offline_access",
        };
        let consent = store
            .consents()
            .create(&new, |id| self.lake.owner_of_consent(id))
            .unwrap()
            .id;
        let new = NewAuthorization {
            consent: &consent,
            endpoint: "payer",
            authorization_type: AuthorizationType::Oauth,
            usage: Usage::Multiple,
            identity_provider: None,
        };
        let authorization = store.authorizations().create(&new).unwrap().id;
        store.authorizations().send_to_source(&authorization).unwrap();
        let grant = Grant {
            patient: &uuid::Uuid::new_v4().to_string(),
            source_patient: "1",
            scope_requested: "patient/*.read",
            scope_granted: "patient/*.read",
            refreshable: true,
            max_auth_until: None,
        };
        store.authorizations().grant(&authorization, &grant).unwrap();
        let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(&consent));
        let new = NewCode {
            consent: &consent,
            client,
            redirect_uri: REDIRECT_URI,
            challenge: &URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier)),
        };
        Code {
            code: store.codes().issue(&new).unwrap(),
            verifier,
        }
    }

    fn exchange(&self, Code { code, verifier }: &Code) -> String {
        let client = &self.keys.publishable;
        let body = format!(
            "grant_type=authorization_code&code={code}&code_verifier={verifier}&client_id={client}&redirect_uri={REDIRECT_URI}"
        );
        post("/oauth/token", "", &body)
    }

    fn tokens(&self) -> Value {
        serde_json::from_slice(&Client::of(self).ask(&self.exchange(&self.code()))).unwrap()
    }
}

fn served(sample: &Sample) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path(), Clock::System).unwrap());
    let redirect_uris = [REDIRECT_URI.to_owned()];
    let new = NewApplication {
        id: Some("app"),
        name: "app",
        modes: &[Mode::Live],
        redirect_uris: &redirect_uris,
        ..NewApplication::default()
    };
    let keys = store.applications().create(&new, Actor::Operator).unwrap().1.remove(0);
    endpoint(&store);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let service = Service::new(Options {
        lake: sample.lake.clone(),
        store: store.clone(),
        parameters: SearchParameters::builtin(),
        terminology: Arc::default(),
        base_url: format!("http://{address}"),
        limits: Limits::default(),
        explain: false,
        console: false,
        signed_attachments: false,
        sources: client::Client::new(Guard::Public, HttpLimits::default()).unwrap(),
        pages: Pages::default(),
        reader: Reader::default(),
    })
    .unwrap();
    runtime.spawn(serve(listener, service, std::future::pending()));
    Served {
        address,
        store,
        lake: sample.lake.clone(),
        keys,
        _runtime: runtime,
        _folder: folder,
    }
}

fn endpoint(store: &Store) {
    let organization = Organization {
        id: "payer".to_owned(),
        name: "Payer".to_owned(),
        note: String::new(),
        organization_type: "PAYER".to_owned(),
    };
    store.organizations().save(&organization, Actor::Operator).unwrap();
    let new = NewEndpoint {
        id: Some("payer"),
        organization: "payer",
        name: "payer",
        mode: Mode::Live,
        label: &[],
        authorization_type: AuthorizationType::Oauth,
        refreshable: true,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &[],
        fhir_base: "https://payer.example/fhir",
        configuration: None,
        client_id: "tabularium",
        client_secret: None,
        scope: "patient/*.read",
        identifier_system: "https://payer.example",
    };
    store.endpoints().save(&new, Actor::Operator).unwrap();
}
