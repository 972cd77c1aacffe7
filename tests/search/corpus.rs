//! Real records, imported once, and an engine over them.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use datafusion::physical_plan::ExecutionPlan;
use serde_json::Value;
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest::{Options, import};
use tabularium::lake::{Lake, Mode, PatientScope, Scope};
use tabularium::search::raw;
use tabularium::search::{Engine, Handling, Request, SearchError, SystemRequest};

use crate::harness;

/// The time of the searches: 2024-06-01T00:00:00Z.
pub(super) const NOW: i64 = 1_717_200_000_000_000;
pub(super) const BASE: &str = "http://records.example/fhir/";

/// An engine over the real records.
pub(super) struct Corpus {
    engine: Engine,
    lake: Lake,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// The corpus.
pub(super) fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folders = ["synthea", "synthea-2021", "uscore", "carin/ig-2.0.0"];
        let real = harness::real();
        let paths = folders.iter().map(|folder| real.data.join(folder));
        // The excerpt of the records has some of the folders.
        let paths: Vec<_> = paths.filter(|path| real.is_whole || path.exists()).collect();
        let folder = tempfile::tempdir().unwrap();
        let lake = crate::harness::kind::open_or_create(folder.path());
        let mut writer = lake.writer().unwrap();
        import(&mut writer, Options::default(), &paths).unwrap();
        drop(writer);
        Corpus {
            engine: Engine::new(lake.clone(), SearchParameters::builtin()),
            lake,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .build()
                .unwrap(),
            _folder: folder,
        }
    })
}

impl Corpus {
    /// The scope of an application token.
    pub(super) fn application(&self) -> Arc<Scope> {
        Arc::new(Scope {
            mode: Mode::Live,
            application: "local".into(),
            patient: None,
        })
    }

    /// The scope of a patient token.
    pub(super) fn patient(&self, id: &str) -> Arc<Scope> {
        let patient = PatientScope {
            patients: vec![id.to_owned()],
            owners: vec![self.lake.owner_of("local", id)],
            authorizations: Vec::new(),
        };
        Arc::new(Scope {
            patient: Some(Arc::new(patient)),
            ..(*self.application()).clone()
        })
    }

    /// The lake of the records.
    pub(super) fn lake(&self) -> Lake {
        self.lake.clone()
    }

    /// One page, as a Bundle.
    pub(super) fn page(&self, scope: &Arc<Scope>, query: &str) -> Result<Value, SearchError> {
        self.page_of(&self.engine, scope, query)
    }

    /// One page from another engine.
    pub(super) fn page_of(&self, engine: &Engine, scope: &Arc<Scope>, query: &str) -> Result<Value, SearchError> {
        let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
        if name.is_empty() {
            return self.system_of(engine, scope, query, Handling::Strict);
        }
        let request = Request {
            scope,
            type_id: facts().lookup(name).unwrap(),
            parameters: &raw::parse(parameters),
            compartment: None,
            handling: Handling::Strict,
            now: NOW,
            base: BASE,
        };
        let bundle = self.runtime.block_on(engine.search(&request))?;
        Ok(serde_json::from_slice(&bundle).unwrap())
    }

    /// The plans of a search.
    pub(super) fn plans(&self, engine: &Engine, request: &Request<'_>) -> Vec<Arc<dyn ExecutionPlan>> {
        self.runtime.block_on(engine.plans(request)).unwrap()
    }

    /// The plans that a search of several types runs.
    pub(super) fn system_plans(&self, engine: &Engine, request: &SystemRequest<'_>) -> Vec<Arc<dyn ExecutionPlan>> {
        self.runtime.block_on(engine.system_ran_plans(request)).unwrap()
    }

    /// One page of a search for one or several types, as written in an address. `None` if the type does not exist.
    pub(super) fn any(&self, scope: &Arc<Scope>, text: &str, handling: Handling) -> Option<Result<Value, SearchError>> {
        let (name, parameters) = text.split_once('?').unwrap_or((text, ""));
        if name.is_empty() {
            return Some(self.system(scope, text, handling));
        }
        let type_id = facts()
            .lookup(name)
            .filter(|type_id| facts().resources().any(|of| of == *type_id))?;
        let request = Request {
            scope,
            type_id,
            parameters: &raw::parse(parameters),
            compartment: None,
            handling,
            now: NOW,
            base: BASE,
        };
        let bundle = self.runtime.block_on(self.engine.search(&request));
        Some(bundle.map(|bundle| serde_json::from_slice(&bundle).unwrap()))
    }

    /// One page of a search over several types.
    pub(super) fn system(&self, scope: &Arc<Scope>, query: &str, handling: Handling) -> Result<Value, SearchError> {
        self.system_of(&self.engine, scope, query, handling)
    }

    fn system_of(
        &self,
        engine: &Engine,
        scope: &Arc<Scope>,
        query: &str,
        handling: Handling,
    ) -> Result<Value, SearchError> {
        let parameters = query.split_once('?').map_or("", |(_, parameters)| parameters);
        let request = SystemRequest {
            compartment: None,
            scope,
            parameters: &raw::parse(parameters),
            handling,
            now: NOW,
            base: BASE,
        };
        let bundle = self.runtime.block_on(engine.search_system(&request))?;
        Ok(serde_json::from_slice(&bundle).unwrap())
    }

    /// The matches of all pages, following their `next` links.
    pub(super) fn all(&self, scope: &Arc<Scope>, query: &str) -> Vec<Value> {
        let mut matches = Vec::new();
        let mut next = Some(query.to_owned());
        while let Some(query) = next {
            let page = self
                .page(scope, &query)
                .unwrap_or_else(|error| panic!("{query}: {error}"));
            matches.extend(resources(&page, "match"));
            next = link(&page, "next").map(|url| url.strip_prefix(BASE).unwrap().to_owned());
        }
        matches
    }

    /// All resources of a type.
    pub(super) fn everything(&self, resource_type: &str) -> Vec<Value> {
        self.all(&self.application(), &format!("{resource_type}?_count=1000"))
    }
}

/// The resources of a page's entries in this search mode.
pub(super) fn resources(page: &Value, mode: &str) -> Vec<Value> {
    let entries = page["entry"].as_array().cloned().unwrap_or_default();
    entries
        .into_iter()
        .filter(|entry| entry["search"]["mode"] == mode)
        .map(|mut entry| entry["resource"].take())
        .collect()
}

/// A link of a page.
pub(super) fn link(page: &Value, relation: &str) -> Option<String> {
    let links = page["link"].as_array()?;
    links.iter().find(|link| link["relation"] == relation)?["url"]
        .as_str()
        .map(str::to_owned)
}

/// `Type/id` of each resource.
pub(super) fn ids(resources: &[Value]) -> BTreeSet<String> {
    resources.iter().map(name).collect()
}

/// The `Type/id` of a resource.
pub(super) fn name(resource: &Value) -> String {
    format!(
        "{}/{}",
        resource["resourceType"].as_str().unwrap(),
        resource["id"].as_str().unwrap()
    )
}
