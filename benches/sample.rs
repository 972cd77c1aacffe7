//! The input of the benches: a generated population as NDJSON, its imported lake, and ids for requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::Value;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::fhir::{TypeId, facts};
use tabularium::ingest::{self, LOCAL_APPLICATION, Options};
use tabularium::lake::{Lake, Mode, Scope};
use tabularium::sandbox::{Population, Written, write_ndjson};
use tabularium::search::{Engine, Handling, Request, SystemRequest, raw};

const SEED: u64 = 1;
/// A frequent code: the pulse.
pub(crate) const PULSE: &str = "http://loinc.org|8867-4";

/// The input of the benches.
pub(crate) struct Sample {
    folder: tempfile::TempDir,
    patients: u64,
    /// The number of resources of each type.
    pub(crate) written: Written,
    pub(crate) lake: Lake,
    pub(crate) scope: Arc<Scope>,
    /// Ids of Observations.
    pub(crate) observations: Vec<String>,
    /// People with 100 to 400 observations of [`PULSE`].
    pub(crate) people: Vec<String>,
}

/// Draws entries of a list at random, always in the same order.
pub(crate) struct Draw<'l> {
    list: &'l [String],
    random: ChaCha8Rng,
}

impl Iterator for Draw<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let at = self.random.next_u64() % self.list.len() as u64;
        Some(self.list[at as usize].clone())
    }
}

/// Draws from a list endlessly.
pub(crate) fn draw(list: &[String]) -> Draw<'_> {
    let random = ChaCha8Rng::seed_from_u64(SEED);
    Draw { list, random }
}

impl Sample {
    /// Generates a population of this many people and imports it.
    pub(crate) fn of(patients: u64) -> Sample {
        let folder = tempfile::tempdir().unwrap();
        let population = Population::new(SEED, patients);
        let written = write_ndjson(&population, &folder.path().join("ndjson"), || {}).unwrap();
        let lake = import_into(&folder.path().join("lake"), &folder.path().join("ndjson"));
        let (mut observations, mut people) = (Vec::new(), BTreeMap::<String, usize>::new());
        let text = std::fs::read_to_string(folder.path().join("ndjson/Observation.ndjson")).unwrap();
        for line in text.lines() {
            let resource: Value = serde_json::from_str(line).unwrap();
            observations.push(resource["id"].as_str().unwrap().to_owned());
            let code = &resource["code"]["coding"][0];
            if PULSE
                == format!(
                    "{}|{}",
                    code["system"].as_str().unwrap(),
                    code["code"].as_str().unwrap()
                )
            {
                *people
                    .entry(resource["subject"]["reference"].as_str().unwrap().to_owned())
                    .or_default() += 1;
            }
        }
        people.retain(|_, rows| (100..=400).contains(rows));
        Sample {
            written,
            lake,
            scope: Arc::new(Scope {
                mode: Mode::Live,
                application: LOCAL_APPLICATION.into(),
                patient: None,
            }),
            observations,
            people: people.into_keys().collect(),
            patients,
            folder,
        }
    }

    /// The number of resources.
    pub(crate) fn resources(&self) -> u64 {
        self.written.values().sum()
    }

    /// A description in one line.
    pub(crate) fn description(&self) -> String {
        let Sample {
            patients,
            observations,
            people,
            ..
        } = self;
        let resources = self.resources();
        format!(
            "{patients} people, {resources} resources, {} observations, {} people with 100 to 400 of one code",
            observations.len(),
            people.len()
        )
    }

    /// The folder of NDJSON.
    pub(crate) fn ndjson(&self) -> PathBuf {
        self.folder.path().join("ndjson")
    }

    /// A search engine over the open lake, with its caches.
    pub(crate) fn engine(&self) -> Engine {
        Engine::new(self.lake.clone(), SearchParameters::builtin())
    }

    /// A search engine over the reopened lake, with empty caches.
    pub(crate) fn new_engine(&self) -> Engine {
        let lake = Lake::open(self.folder.path().join("lake")).unwrap();
        Engine::new(lake, SearchParameters::builtin())
    }

    /// Runs a search of Observations. Returns the Bundle's length.
    pub(crate) async fn search(&self, engine: &Engine, query: &str) -> usize {
        self.search_of(engine, "Observation", query).await
    }

    /// Runs a search of a type. Returns the Bundle's length.
    pub(crate) async fn search_of(&self, engine: &Engine, resource_type: &str, query: &str) -> usize {
        self.page_of(engine, resource_type, query).await.len()
    }

    /// Runs a search of Observations. Returns the Bundle.
    pub(crate) async fn page(&self, engine: &Engine, query: &str) -> Bytes {
        self.page_of(engine, "Observation", query).await
    }

    /// Runs a search of several types, as `GET /fhir?_type=` does. Returns the Bundle's length.
    pub(crate) async fn search_types(&self, engine: &Engine, query: &str) -> usize {
        let request = SystemRequest {
            scope: &self.scope,
            compartment: None,
            parameters: &raw::parse(query),
            handling: Handling::Strict,
            now: self.lake.clock().now(),
            base: "http://localhost/fhir/",
        };
        engine.search_system(&request).await.unwrap().len()
    }

    pub(crate) async fn page_of(&self, engine: &Engine, resource_type: &str, query: &str) -> Bytes {
        let request = Request {
            scope: &self.scope,
            type_id: facts().lookup(resource_type).unwrap(),
            parameters: &raw::parse(query),
            compartment: None,
            handling: Handling::Strict,
            now: self.lake.clock().now(),
            base: "http://localhost/fhir/",
        };
        engine.search(&request).await.unwrap()
    }
}

/// The type that most benches read.
pub(crate) fn observation() -> TypeId {
    facts().lookup("Observation").unwrap()
}

/// Imports a folder of NDJSON into a new lake.
pub(crate) fn import_into(lake: &Path, ndjson: &Path) -> Lake {
    let lake = Lake::open_or_create(lake).unwrap();
    let summary = ingest::import(&mut lake.writer().unwrap(), Options::default(), &[ndjson.to_owned()]).unwrap();
    assert_eq!(summary.refused, 0);
    lake
}
