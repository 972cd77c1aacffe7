//! A few resources in the test's source, and an engine over them.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use serde_json::Value;
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::lake::{Lake, Scope};
use tabularium::search::raw;
use tabularium::search::{Engine, Form, Handling, Request, SearchError, SystemRequest};
use tabularium::terminology::Terminology;

use super::corpus::link;
use crate::harness::records::{self, Record};

/// The time of the searches: 2015-01-14T00:00:00Z.
const NOW: i64 = 1_421_193_600_000_000;
pub(super) const BASE: &str = "http://example.org/fhir/";

pub(super) struct Small {
    engine: Engine,
    pub(super) lake: Lake,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// A lake of these resources. Each is filed under the Patient that it is, or that is its subject.
pub(super) fn small(resources: &[Value]) -> Small {
    with_terminology(resources, Terminology::default())
}

pub(super) fn with_terminology(resources: &[Value], terminology: Terminology) -> Small {
    let small = with_parameters(resources, SearchParameters::builtin());
    Small {
        engine: small.engine.with_terminology(Arc::new(terminology)),
        ..small
    }
}

pub(super) fn with_parameters(resources: &[Value], parameters: Arc<SearchParameters>) -> Small {
    let (folder, lake) = records::lake();
    let filed = |resource: &Value| {
        let record = Record::new(resource.clone());
        let reference = ["subject", "patient"].iter().find_map(|name| {
            resource[*name]["reference"]
                .as_str()
                .or(resource[*name][0]["reference"].as_str())
        });
        let patient = if resource["resourceType"] == "Patient" {
            resource["id"].as_str()
        } else {
            reference.and_then(|reference| reference.strip_prefix("Patient/"))
        };
        match patient {
            Some(patient) => record.of(&lake, patient.split('/').next().unwrap()),
            None => record,
        }
    };
    let records: Vec<Record> = resources.iter().map(filed).collect();
    records::commit(&lake, &records);
    Small {
        engine: Engine::new(lake.clone(), parameters),
        lake,
        runtime: tokio::runtime::Builder::new_current_thread().build().unwrap(),
        _folder: folder,
    }
}

impl Small {
    /// A page of an application's search.
    pub(super) fn page(&self, query: &str) -> Result<Value, SearchError> {
        self.page_of(&records::application("local"), query, Handling::Strict)
    }

    pub(super) fn page_of(&self, scope: &Arc<Scope>, query: &str, handling: Handling) -> Result<Value, SearchError> {
        let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
        let parameters = raw::parse(&parameters.replace('+', "%2B"));
        let bundle = match facts().lookup(name) {
            Some(type_id) => {
                let request = Request {
                    scope,
                    type_id,
                    parameters: &parameters,
                    compartment: None,
                    handling,
                    now: NOW,
                    base: BASE,
                };
                self.runtime.block_on(self.engine.search(&request))?
            }
            None => {
                let request = SystemRequest {
                    compartment: None,
                    scope,
                    parameters: &parameters,
                    handling,
                    now: NOW,
                    base: BASE,
                };
                self.runtime.block_on(self.engine.search_system(&request))?
            }
        };
        Ok(serde_json::from_slice(&bundle).unwrap())
    }

    /// The plans of an application's search.
    pub(super) fn plans(&self, query: &str) -> Vec<Arc<dyn ExecutionPlan>> {
        self.plans_of(&self.engine, &records::application("local"), query)
    }

    /// The plans of a search by another engine over the lake.
    pub(super) fn plans_of(&self, engine: &Engine, scope: &Arc<Scope>, query: &str) -> Vec<Arc<dyn ExecutionPlan>> {
        let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
        let request = Request {
            scope,
            type_id: facts().lookup(name).unwrap(),
            parameters: &raw::parse(parameters),
            compartment: None,
            handling: Handling::Strict,
            now: NOW,
            base: BASE,
        };
        let planned = self.runtime.block_on(engine.plans(&request));
        planned.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The plans that an application's search runs, of one or of several types.
    pub(super) fn ran_plans(&self, query: &str) -> Vec<Arc<dyn ExecutionPlan>> {
        let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
        let (scope, parameters) = (&records::application("local"), &raw::parse(parameters));
        let (handling, now, base) = (Handling::Strict, NOW, BASE);
        let ran = match facts().lookup(name) {
            Some(type_id) => self.runtime.block_on(self.engine.ran_plans(&Request {
                scope,
                type_id,
                compartment: None,
                parameters,
                handling,
                now,
                base,
            })),
            None => self.runtime.block_on(self.engine.system_ran_plans(&SystemRequest {
                scope,
                compartment: None,
                parameters,
                handling,
                now,
                base,
            })),
        };
        ran.unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// The explanation of an application's search as JSON. If the query begins with a Patient, it searches a type in
    /// that compartment.
    pub(super) fn explained(&self, query: &str) -> Value {
        let (name, parameters) = query.split_once('?').unwrap_or((query, ""));
        let parameters = raw::parse(parameters);
        let scope = &records::application("local");
        let member = name.strip_prefix("Patient/").and_then(|rest| rest.split_once('/'));
        let (compartment, name) = member.map_or((None, name), |(patient, name)| (Some(patient), name));
        let explained = match facts().lookup(name) {
            Some(type_id) => {
                let request = Request {
                    scope,
                    type_id,
                    parameters: &parameters,
                    compartment,
                    handling: Handling::Strict,
                    now: NOW,
                    base: BASE,
                };
                self.runtime
                    .block_on(self.engine.search_explained(&request, Form::Json))
            }
            None => {
                let request = SystemRequest {
                    compartment: None,
                    scope,
                    parameters: &parameters,
                    handling: Handling::Strict,
                    now: NOW,
                    base: BASE,
                };
                self.runtime
                    .block_on(self.engine.search_system_explained(&request, Form::Json))
            }
        };
        explained.unwrap().1.to_json()
    }

    /// The ids of all pages' matches in order, with an application's scope.
    pub(super) fn found(&self, query: &str) -> Vec<String> {
        self.found_by(&records::application("local"), query)
    }

    pub(super) fn found_by(&self, scope: &Arc<Scope>, query: &str) -> Vec<String> {
        let urls = self.urls(scope, query);
        urls.iter()
            .map(|url| url.rsplit('/').next().unwrap().to_owned())
            .collect()
    }

    /// The `fullUrl`s of all pages' matches in order, without the base.
    pub(super) fn urls(&self, scope: &Arc<Scope>, query: &str) -> Vec<String> {
        let mut urls = Vec::new();
        let mut next = Some(query.to_owned());
        while let Some(query) = next {
            let page = self
                .page_of(scope, &query, Handling::Strict)
                .unwrap_or_else(|error| panic!("{query}: {error}"));
            for entry in page["entry"].as_array().into_iter().flatten() {
                if entry["search"]["mode"] == "match" {
                    urls.push(
                        entry["fullUrl"]
                            .as_str()
                            .unwrap()
                            .strip_prefix(BASE)
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
            next = link(&page, "next").map(|url| match url.strip_prefix(BASE) {
                Some(rest) => decoded(rest),
                None => decoded(url.strip_prefix(BASE.trim_end_matches('/')).unwrap()),
            });
        }
        urls
    }

    /// Checks that each query finds these ids, separated by spaces, in any order.
    pub(super) fn check(&self, expected: &[(&str, &str)]) {
        let mut wrong = Vec::new();
        for (query, ids) in expected {
            let mut found = self.found(query);
            found.sort();
            let mut ids: Vec<&str> = ids.split_whitespace().collect();
            ids.sort_unstable();
            if found != ids {
                wrong.push(format!("{query}: {found:?}, not {ids:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Checks that each query is refused as a client error with this text.
    pub(super) fn refused(&self, expected: &[(&str, &str)]) {
        for (query, part) in expected {
            match self.page(query) {
                Ok(_) => panic!("{query} is not refused"),
                Err(error) => assert!(error.is_input() && error.to_string().contains(part), "{query}: {error}"),
            }
        }
    }
}

/// A link in the form of this module's queries, with spaces decoded.
fn decoded(link: &str) -> String {
    link.replace('+', "%20")
}
