//! `$expunge` over HTTP, by a server in this process: the response, after which the person's rows are hidden and their
//! health card is revoked, and the erasure that follows.
//!
//! `TABULARIUM_BENCH_LAKE` names another data folder than the sample's. People are erased from it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use serde_json::Value;
use tabularium::consent::{Clock, LOCAL_APPLICATION, Store, Tokens};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::http::{Limits, Options, Pages, Service, serve};
use tabularium::ingest::Normalization;
use tabularium::lake::{Lake, Mode};
use tabularium::normalize::{Day, Knowledge};
use tabularium::patient::pdf::Reader;
use tabularium::search::Engine;
use tabularium::sync::carry_out_erasures;
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::{Copy, of_kind};
use crate::sample::Sample;

/// The maximum number of people erased from a lake.
const PEOPLE: usize = 150;
/// The request for a health card.
const CARD: &str =
    r#"{"resourceType":"Parameters","parameter":[{"name":"credentialType","valueUri":"Patient/$everything"}]}"#;

/// A served lake and its people.
struct Served {
    address: SocketAddr,
    store: Arc<Store>,
    lake: Lake,
    tokens: Tokens,
    people: std::vec::IntoIter<String>,
    _runtime: Runtime,
    _copy: Option<Copy>,
}

/// The times of one `$expunge`.
struct Took {
    answer: Duration,
    /// The time from the request until the revocation list names the person's health card.
    revoked: Duration,
    /// The time until the last byte is gone and the receipt is signed.
    erasure: Duration,
    files: u64,
}

pub(super) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let mut group = criterion.benchmark_group("care/expunge");
    // A person can be erased only once, so there are few rounds.
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1));
    for kind in ["open", "sealed"] {
        let mut served: Option<Served> = None;
        let mut files = Vec::new();
        let mut next = |of: fn(&Took) -> Duration| {
            if served.as_ref().is_none_or(|served| served.people.len() == 0) {
                served = Some(Served::start(sample, kind));
            }
            let took = served.as_mut().unwrap().expunge();
            files.push(took.files);
            of(&took)
        };
        group.bench_function(format!("answer/{kind}"), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| next(|took| took.answer)).sum());
        });
        group.bench_function(format!("revoked/{kind}"), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| next(|took| took.revoked)).sum());
        });
        group.bench_function(format!("erasure/{kind}"), |bench| {
            bench.iter_custom(|times| (0..times).map(|_| next(|took| took.erasure)).sum());
        });
        if let Some(served) = served {
            files.sort_unstable();
            let resources: u64 = served.lake.info().unwrap().tables.iter().map(|table| table.rows).sum();
            println!(
                "care/expunge of one person in {resources} resources ({kind}): {} files rewritten or removed",
                files[files.len() / 2]
            );
        }
    }
    group.finish();
}

impl Served {
    fn start(sample: &Sample, kind: &str) -> Served {
        let (copy, lake) = match std::env::var_os("TABULARIUM_BENCH_LAKE") {
            Some(folder) => (None, Lake::open(PathBuf::from(folder)).unwrap()),
            None => {
                let copy = of_kind(sample, kind);
                let lake = copy.open();
                (Some(copy), lake)
            }
        };
        let store = Arc::new(Store::open(lake.folder().path(), Clock::System).unwrap());
        store.applications().register(LOCAL_APPLICATION).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let engine = Engine::new(lake.clone(), SearchParameters::builtin());
        let page = runtime.block_on(sample.page_of(&engine, "Patient", &format!("_elements=id&_count={PEOPLE}")));
        let page: Value = serde_json::from_slice(&page).unwrap();
        let entries = page["entry"].as_array().unwrap().iter();
        let people: Vec<String> = entries
            .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
            .collect();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let base_url = format!("http://{address}");
        let service = Service::new(Options {
            lake: lake.clone(),
            store: store.clone(),
            parameters: SearchParameters::builtin(),
            terminology: Arc::default(),
            base_url: base_url.clone(),
            limits: Limits::default(),
            explain: false,
            console: false,
            signed_attachments: false,
            sources: Client::new(Guard::Public, HttpLimits::default()).unwrap(),
            pages: Pages::default(),
            reader: Reader::default(),
        })
        .unwrap();
        runtime.spawn(serve(listener, service, std::future::pending()));
        Served {
            tokens: Tokens::new(store.clone(), lake.clone(), &base_url),
            address,
            store,
            lake,
            people: people.into_iter(),
            _runtime: runtime,
            _copy: copy,
        }
    }

    /// Issues a health card to the next person and requests their erasure. Checks that the rows are hidden and the card
    /// is revoked, and waits for the erasure.
    fn expunge(&mut self) -> Took {
        let person = self.people.next().unwrap();
        let of_patient = self.tokens.for_patient(LOCAL_APPLICATION, Mode::Live, &person).unwrap();
        let of_application = self.tokens.for_application(LOCAL_APPLICATION, Mode::Live).unwrap();
        let path = format!("/fhir/Patient/{person}");
        assert_eq!(self.ask("GET", &path, &of_application.token, "").0, 200);
        let card = format!("{path}/$health-cards-issue");
        assert_eq!(self.ask("POST", &card, &of_patient.token, CARD).0, 200);
        let (lists, listed) = self.revocations();
        let begun = Instant::now();
        let (status, answer, _) = self.ask("POST", &format!("{path}/$expunge"), &of_patient.token, "");
        assert_eq!(status, 200);
        let answered = begun.elapsed();
        let begun = Instant::now();
        let now_listed: usize = lists.iter().map(|list| self.listed(list)).sum();
        let revoked = answered + begun.elapsed();
        assert_eq!(now_listed, listed + 1, "revoked at once");
        assert_eq!(
            self.ask("GET", &path, &of_application.token, "").0,
            404,
            "hidden at once"
        );
        let rules = Normalization {
            knowledge: Knowledge::default(),
            today: Day(0),
            tag_system_base: "https://records.example/tags".to_owned(),
            observer: None,
            dangling: BTreeMap::new(),
        };
        let before = self.files();
        let begun = Instant::now();
        carry_out_erasures(&self.store, &self.lake, 0, &rules).unwrap();
        let erasure = begun.elapsed();
        let after = self.files();
        Took {
            answer,
            revoked,
            erasure,
            files: before.iter().filter(|file| !after.contains(file)).count() as u64,
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let tables = &self.lake.snapshot().tables;
        let files = tables.values().flat_map(|table| &table.files);
        files.map(|file| file.path.clone()).collect()
    }

    /// The paths of the revocation lists of health cards, and the number of cards in them.
    fn revocations(&self) -> (Vec<String>, usize) {
        let keys = self.json("/health-cards/.well-known/jwks.json");
        let keys = keys["keys"].as_array().unwrap().iter();
        let path = |key: &Value| format!("/health-cards/.well-known/crl/{}.json", key["kid"].as_str().unwrap());
        let lists: Vec<String> = keys.map(path).collect();
        let listed = lists.iter().map(|list| self.listed(list)).sum();
        (lists, listed)
    }

    /// The number of cards in a revocation list.
    fn listed(&self, list: &str) -> usize {
        self.json(list)["rids"].as_array().map_or(0, Vec::len)
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ask("GET", path, "", "").2).unwrap_or_default()
    }

    /// The status of a response, the time until it is complete, and its body.
    fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Duration, Vec<u8>) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\nContent-Type: application/fhir+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let mut answer = Vec::new();
        reader.read_to_end(&mut answer).unwrap();
        let took = begun.elapsed();
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        (status, took, answer.split_off(head + 4))
    }
}
