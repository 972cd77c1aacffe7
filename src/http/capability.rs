//! What this server can do, as a CapabilityStatement: the types it reads and searches, and the search parameters and includes
//! that really work. Whatever stands here is answered, and what is answered stands here.

use std::sync::{Arc, PoisonError, RwLock};

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bytes::Bytes;
use chrono::{DateTime, NaiveDate};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::error::Error;
use super::negotiate::{FHIR_JSON, json_admitted, parameter, wants_pretty};
use super::pretty::pretty;
use super::service::Service;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};
use crate::search::Engine;

/// The statement of the current day; it is made anew when the date changes.
#[derive(Debug, Default)]
pub(super) struct Capability {
    made: RwLock<Option<(NaiveDate, Bytes)>>,
}

/// `GET /fhir/metadata`: the one FHIR route that needs no token.
pub(super) async fn metadata(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    json_admitted(&headers, parameter(query.as_deref(), "_format").as_deref())?;
    let statement = service.capability.today(&service)?;
    let body = if wants_pretty(query.as_deref())? {
        Body::from(pretty(&statement))
    } else {
        Body::from(statement)
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, FHIR_JSON);
    Ok(response)
}

impl Capability {
    fn today(&self, service: &Service) -> Result<Bytes, Error> {
        let now = DateTime::from_timestamp(service.store.clock().now(), 0).unwrap_or_default();
        let today = now.date_naive();
        if let Some((date, bytes)) = self.made.read().unwrap_or_else(PoisonError::into_inner).as_ref()
            && *date == today
        {
            return Ok(bytes.clone());
        }
        let statement = statement(&service.base_url, today, &service.engine);
        let bytes = Bytes::from(serde_json::to_vec(&statement).map_err(Error::internal)?);
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Some((today, bytes.clone()));
        Ok(bytes)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Statement<'a> {
    resource_type: &'static str,
    url: String,
    version: &'static str,
    name: &'static str,
    title: &'static str,
    status: &'static str,
    date: String,
    publisher: &'static str,
    kind: &'static str,
    software: Software,
    implementation: Implementation,
    fhir_version: &'static str,
    format: [&'static str; 2],
    rest: [Rest<'a>; 1],
}

#[derive(Serialize)]
struct Software {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Implementation {
    description: &'static str,
    url: String,
}

#[derive(Serialize)]
struct Rest<'a> {
    mode: &'static str,
    security: Security,
    interaction: [Interaction; 1],
    resource: Vec<Resource<'a>>,
}

#[derive(Serialize)]
struct Security {
    cors: bool,
    description: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    #[serde(rename = "type")]
    ty: &'static str,
    interaction: [Interaction; 2],
    versioning: &'static str,
    conditional_read: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_rev_include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_param: Vec<Parameter<'a>>,
}

#[derive(Serialize)]
struct Interaction {
    code: &'static str,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    definition: &'a str,
    #[serde(rename = "type")]
    ty: &'static str,
}

fn statement<'a>(base_url: &str, today: NaiveDate, engine: &'a Engine) -> Statement<'a> {
    Statement {
        resource_type: "CapabilityStatement",
        url: format!("{base_url}/fhir/metadata"),
        version: env!("CARGO_PKG_VERSION"),
        name: "Tabularium",
        title: "Tabularium: health records in columns",
        status: "active",
        date: today.to_string(),
        publisher: "Tabularium",
        kind: "instance",
        software: Software {
            name: "tabularium",
            version: env!("CARGO_PKG_VERSION"),
        },
        implementation: Implementation {
            description: "Reads and searches of health records, for one patient or one application",
            url: format!("{base_url}/fhir"),
        },
        fhir_version: "4.0.1",
        format: ["application/fhir+json", "json"],
        rest: [Rest {
            mode: "server",
            security: Security {
                cors: false,
                description: "Send a patient or application access token as Authorization: Bearer; /fhir/metadata needs none",
            },
            interaction: [Interaction { code: "search-system" }],
            resource: resources(engine),
        }],
    }
}

fn resources(engine: &Engine) -> Vec<Resource<'_>> {
    let mut including = Includes::of(engine);
    facts()
        .resources()
        .map(|ty| Resource {
            ty: facts().get(ty).name,
            interaction: [Interaction { code: "read" }, Interaction { code: "search-type" }],
            versioning: "versioned",
            conditional_read: "full-support",
            search_include: including.forward.remove(&ty).unwrap_or_default(),
            search_rev_include: including.reverse.remove(&ty).unwrap_or_default(),
            search_param: engine.supported(ty).map(|parameter| described(parameter)).collect(),
        })
        .collect()
}

/// The `Type:code` pairs that searches of each type may include by.
#[derive(Default)]
struct Includes {
    forward: FxHashMap<TypeId, Vec<String>>,
    reverse: FxHashMap<TypeId, Vec<String>>,
}

impl Includes {
    /// A reference parameter that names no targets may point to any type.
    fn of(engine: &Engine) -> Includes {
        let mut found = Includes::default();
        for source in facts().resources() {
            for parameter in engine
                .supported(source)
                .filter(|parameter| parameter.ty == SearchType::Reference)
            {
                let pair = format!("{}:{}", facts().get(source).name, parameter.code);
                let any = parameter.targets.is_empty();
                for target in facts()
                    .resources()
                    .filter(|target| any || parameter.targets.contains(target))
                {
                    found.reverse.entry(target).or_default().push(pair.clone());
                }
                found.forward.entry(source).or_default().push(pair);
            }
        }
        found
    }
}

fn described(parameter: &SearchParameter) -> Parameter<'_> {
    Parameter {
        name: &parameter.code,
        definition: &parameter.url,
        ty: parameter.ty.as_str(),
    }
}
