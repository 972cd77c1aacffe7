//! A service on a loopback port in this process, over a lake of a few records.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tabularium::consent::{Clock, LOCAL_APPLICATION, Store, Tokens};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::http::{Limits, Options, Pages, ServeError, Service, serve};
use tabularium::ingest::{self, Session};
use tabularium::lake::{Lake, Mode};
use tabularium::patient::pdf::Reader;
use tabularium::patient::pdf::apart::Bounds;
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tabularium::terminology::Terminology;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::super::records;
use super::super::records::Record;

/// Writes what services log as errors to standard error: an answer with the status 500 does not say its cause.
fn log_errors() {
    let errors = tracing_subscriber::fmt().with_max_level(tracing::Level::ERROR);
    // The first server of the process has set it already.
    let _ = errors.with_ansi(false).with_writer(std::io::stderr).try_init();
}

/// The start of all servers' clocks, in seconds since the Unix epoch.
pub(crate) const START: i64 = 1_800_000_000;

/// A running service. It stops when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<Store>,
    pub(crate) tokens: Tokens,
    pub(crate) lake: Lake,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
    folder: tempfile::TempDir,
}

/// The options that are off by default.
#[derive(Clone, Copy, Default)]
struct Switches {
    explain: bool,
    signed_attachments: bool,
}

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The code of the OperationOutcome's only issue.
    pub(crate) fn issue(&self) -> String {
        let outcome = self.json();
        assert_eq!(outcome["resourceType"], "OperationOutcome");
        assert_eq!(outcome["issue"].as_array().unwrap().len(), 1);
        outcome["issue"][0]["code"].as_str().unwrap().to_owned()
    }
}

/// The program that reads attachments. A service of the program reads them with itself; this process is the tests.
fn reader() -> Reader {
    Reader {
        program: env!("CARGO_BIN_EXE_tabularium").into(),
        ..Reader::default()
    }
}

/// A lake with these resources.
fn stored(resources: &[serde_json::Value]) -> (tempfile::TempDir, Lake) {
    let (folder, lake) = records::lake();
    let records: Vec<Record> = resources.iter().map(|resource| filed(&lake, resource)).collect();
    records::commit(&lake, &records);
    (folder, lake)
}

impl Server {
    /// A server over these resources.
    pub(crate) fn start(resources: &[serde_json::Value]) -> Server {
        Server::limited(resources, Limits::default())
    }

    /// A server over these resources with these limits.
    pub(crate) fn limited(resources: &[serde_json::Value], limits: Limits) -> Server {
        let (folder, lake) = stored(resources);
        Server::over(folder, lake, limits)
    }

    /// The same, with these bounds for attachments.
    pub(crate) fn bounded(resources: &[serde_json::Value], limits: Limits, bounds: Bounds) -> Server {
        let (folder, lake) = stored(resources);
        let reader = Reader { bounds, ..reader() };
        let limits = (limits, reader);
        let clock = Clock::at(START);
        let switches = Switches::default();
        let known = (Arc::default(), switches);
        Server::with_pages(folder, lake, limits, known, clock, None, Pages::default())
    }

    /// A server over these resources with a short wait for erasures.
    pub(crate) fn impatient(resources: &[serde_json::Value]) -> Server {
        let limits = Limits {
            erasure_time: Duration::from_millis(50),
            ..Limits::default()
        };
        Server::limited(resources, limits)
    }

    /// A server over these resources, imported as the program does: a live Bundle of the local application.
    pub(crate) fn imported(resources: &[serde_json::Value]) -> Server {
        Server::imported_at(resources, Clock::at(START))
    }

    /// The same with a clock that the program's commands use too.
    pub(crate) fn imported_at(resources: &[serde_json::Value], clock: Clock) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let lake = crate::harness::kind::open_or_create(folder.path());
        let mut writer = lake.writer().unwrap();
        let mut session = Session::begin(&mut writer, ingest::Options::default()).unwrap();
        for resource in resources {
            session.add_document(resource.to_string().as_bytes()).unwrap();
        }
        assert_eq!(session.finish().unwrap().refused, 0);
        drop(writer);
        Server::run(folder, lake, Limits::default(), Arc::default(), false, clock, None)
    }

    /// The same with rewritten ids, as after a sync.
    pub(crate) fn rewritten(resources: &[serde_json::Value]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let lake = crate::harness::kind::open_or_create(folder.path());
        let input = tempfile::tempdir().unwrap();
        let lines: Vec<String> = resources.iter().map(ToString::to_string).collect();
        let path = input.path().join("records.ndjson");
        std::fs::write(&path, lines.join("\n")).unwrap();
        let options = ingest::Options {
            rewrite_ids: true,
            ..ingest::Options::default()
        };
        ingest::import(&mut lake.writer().unwrap(), options, &[path]).unwrap();
        Server::over(folder, lake, Limits::default())
    }

    /// A server with the CodeSystems and ValueSets of a Bundle.
    pub(crate) fn with_terminology(resources: &[serde_json::Value], bundle: &serde_json::Value) -> Server {
        let (folder, lake) = stored(resources);
        let terminology = Terminology::parse(&bundle.to_string()).unwrap();
        Server::knowing(folder, lake, Limits::default(), Arc::new(terminology))
    }

    /// A server over an empty lake with this clock. `interim` is how long its pages wait for a source.
    pub(crate) fn starting_at(clock: Clock, interim: Duration) -> Server {
        let (folder, lake) = stored(&[]);
        let limits = Limits {
            interim,
            ..Limits::default()
        };
        Server::run(folder, lake, limits, Arc::default(), false, clock, None)
    }

    /// The same with another public address, as behind a proxy.
    pub(crate) fn known_as(base_url: &str, clock: Clock) -> Server {
        let (folder, lake) = stored(&[]);
        Server::run(
            folder,
            lake,
            Limits::default(),
            Arc::default(),
            false,
            clock,
            Some(base_url),
        )
    }

    /// A server over an existing lake.
    pub(crate) fn over(folder: tempfile::TempDir, lake: Lake, limits: Limits) -> Server {
        Server::knowing(folder, lake, limits, Arc::default())
    }

    /// A server over an existing lake with another public address.
    pub(crate) fn at(folder: tempfile::TempDir, lake: Lake, base_url: &str) -> Server {
        let (limits, clock) = (Limits::default(), Clock::at(START));
        Server::run(folder, lake, limits, Arc::default(), false, clock, Some(base_url))
    }

    /// A server over an existing lake that explains its answers to authorized callers.
    pub(crate) fn explaining(folder: tempfile::TempDir, lake: Lake) -> Server {
        Server::run(
            folder,
            lake,
            Limits::default(),
            Arc::default(),
            true,
            Clock::at(START),
            None,
        )
    }

    /// A server over an existing lake that signs the addresses of attachments.
    pub(crate) fn signing(folder: tempfile::TempDir, lake: Lake) -> Server {
        let switches = Switches {
            signed_attachments: true,
            ..Switches::default()
        };
        let (limits, known) = ((Limits::default(), reader()), (Arc::default(), switches));
        Server::with_pages(folder, lake, limits, known, Clock::at(START), None, Pages::default())
    }

    fn knowing(folder: tempfile::TempDir, lake: Lake, limits: Limits, terminology: Arc<Terminology>) -> Server {
        Server::run(folder, lake, limits, terminology, false, Clock::at(START), None)
    }

    fn run(
        folder: tempfile::TempDir,
        lake: Lake,
        limits: Limits,
        terminology: Arc<Terminology>,
        explain: bool,
        clock: Clock,
        base_url: Option<&str>,
    ) -> Server {
        let (limits, pages) = ((limits, reader()), Pages::default());
        let switches = Switches {
            explain,
            ..Switches::default()
        };
        Server::with_pages(folder, lake, limits, (terminology, switches), clock, base_url, pages)
    }

    /// A server over an empty lake with these pages.
    pub(crate) fn showing(clock: Clock, interim: Duration, pages: Pages) -> Server {
        let (folder, lake) = stored(&[]);
        let limits = Limits {
            interim,
            ..Limits::default()
        };
        let limits = (limits, reader());
        let known = (Arc::default(), Switches::default());
        Server::with_pages(folder, lake, limits, known, clock, None, pages)
    }

    fn with_pages(
        folder: tempfile::TempDir,
        lake: Lake,
        (limits, reader): (Limits, Reader),
        (terminology, switches): (Arc<Terminology>, Switches),
        clock: Clock,
        base_url: Option<&str>,
        pages: Pages,
    ) -> Server {
        log_errors();
        let store = Arc::new(Store::open(folder.path(), clock).unwrap());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let base_url = base_url.map_or_else(|| format!("http://{address}"), str::to_owned);
        let tokens = Tokens::new(store.clone(), lake.clone(), &base_url);
        let service = Service::new(Options {
            lake: lake.clone(),
            store: store.clone(),
            parameters: SearchParameters::builtin(),
            terminology,
            base_url,
            limits,
            explain: switches.explain,
            console: true,
            signed_attachments: switches.signed_attachments,
            sources: Client::new(Guard::Private, HttpLimits::default()).unwrap(),
            pages,
            reader,
        })
        .unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(listener, service, async {
                let _ = stopped.await;
            }))
        });
        Server {
            address,
            store,
            tokens,
            lake,
            stop: Some(stop),
            thread: Some(thread),
            folder,
        }
    }

    /// The folder that holds the lake and the store.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn application_token(&self) -> String {
        self.tokens
            .for_application(LOCAL_APPLICATION, Mode::Live)
            .unwrap()
            .token
    }

    pub(crate) fn patient_token(&self, patient: &str) -> String {
        self.tokens
            .for_patient(LOCAL_APPLICATION, Mode::Live, patient)
            .unwrap()
            .token
    }

    /// `GET path` with a token.
    pub(crate) fn get(&self, path: &str, token: &str) -> Answer {
        self.send("GET", path, &[("authorization", &format!("Bearer {token}"))], "")
    }

    /// The status and content type of a response. Its body is ignored.
    pub(crate) fn status_and_type(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let response = self.exchange(method, path, headers, body.as_bytes());
        let content_type = response.headers().get("content-type");
        (
            response.status().as_u16(),
            content_type
                .map_or("", |content_type| content_type.to_str().unwrap())
                .to_owned(),
        )
    }

    /// Sends a request with a binary body or response. Returns status, headers and bytes.
    pub(crate) fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, ureq::http::HeaderMap, Vec<u8>) {
        let mut response = self.exchange(method, path, headers, body);
        let bytes = response.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap();
        (response.status().as_u16(), response.headers().clone(), bytes)
    }

    /// Sends a request with these headers and this body.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut response = self.exchange(method, path, headers, body.as_bytes());
        let text = response.body_mut().read_to_string().unwrap();
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text,
        }
    }

    /// Sends a GET with these headers, and returns the headers of the answer. Does not follow redirects.
    pub(crate) fn redirect(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let response = self.exchange_up_to(0, "GET", path, headers, &[]);
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: String::new(),
        }
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> ureq::http::Response<ureq::Body> {
        self.exchange_up_to(10, method, path, headers, body)
    }

    /// Follows this number of redirects.
    fn exchange_up_to(
        &self,
        redirects: u32,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> ureq::http::Response<ureq::Body> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(redirects)
            .max_redirects_will_error(redirects > 0);
        let agent: ureq::Agent = config.build().into();
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = if body.is_empty() {
            agent.run(request.body(()).unwrap())
        } else {
            agent.run(request.body(body.to_vec()).unwrap())
        };
        sent.unwrap()
    }

    /// Tells the server to stop, as a signal would; [`Server::outcome`] waits for the end.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// The server's result.
    pub(crate) fn outcome(&mut self) -> Result<(), ServeError> {
        self.stop();
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A live record of the local application, filed under the Patient that it is or that its `subject` names.
fn filed(lake: &Lake, resource: &serde_json::Value) -> Record {
    let subject = resource["subject"]["reference"]
        .as_str()
        .and_then(|text| text.strip_prefix("Patient/"));
    let itself = resource["id"]
        .as_str()
        .filter(|_| resource["resourceType"] == "Patient");
    let record = Record::new(resource.clone());
    match subject.or(itself) {
        Some(patient) => record.of(lake, patient),
        None => record,
    }
}

/// The rules of normalization without a terminology.
pub(crate) fn rules() -> tabularium::ingest::Normalization {
    tabularium::ingest::Normalization {
        knowledge: tabularium::normalize::Knowledge::default(),
        today: tabularium::normalize::Day(0),
        tag_system_base: "https://service.example/tags".to_owned(),
        observer: None,
        dangling: std::collections::BTreeMap::new(),
    }
}
