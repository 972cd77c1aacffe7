//! The CapabilityStatement: the types that this server reads and searches, and the search parameters and includes
//! that it supports. A test compares the statement with the responses in both directions.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::Response;
use bytes::Bytes;
use chrono::{DateTime, NaiveDate};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::super::described;
use super::super::discovery;
use super::super::error::Error;
use super::super::routes::{Operation, Route, list, named, object};
use super::super::server::coding::{Coding, Taken};
use super::super::service::Service;
use super::negotiate::{FHIR_JSON, json_admitted, parameter, wants_pretty};
use super::patient;
use crate::columns::json::pretty;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhir::{TypeId, facts};
use crate::search::{COMMON, Engine, PREFIXES};

/// The statement of the current day. It is built again when the date changes. The router adds it to requests as an
/// extension.
#[derive(Debug, Default)]
pub(in crate::http) struct Capability {
    made: RwLock<Option<Arc<Made>>>,
}

/// The statement of one day, uncompressed and in the content codings that clients have requested so far.
#[derive(Debug)]
struct Made {
    date: NaiveDate,
    plain: Bytes,
    coded: [OnceLock<Bytes>; 2],
}

/// Returns the route of the statement.
pub(in crate::http) fn routes() -> Vec<Route> {
    let operation = Operation::new("metadata", "What this server can do, as a CapabilityStatement").open();
    let mut schema = object(
        &["resourceType", "fhirVersion", "rest"],
        json!({
            "resourceType": {"type": "string", "const": "CapabilityStatement"},
            "fhirVersion": {"type": "string"},
            "rest": list(&json!({"type": "object", "additionalProperties": true})),
        }),
    );
    schema["additionalProperties"] = json!(true);
    let schema = named("CapabilityStatement", schema);
    vec![Route::at("/fhir/metadata").get(metadata, operation.answers(&[described::FHIR], &schema))]
}

/// Answers `GET /fhir/metadata`. It needs no token.
async fn metadata(
    State(service): State<Arc<Service>>,
    Extension(capability): Extension<Arc<Capability>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    json_admitted(&headers, parameter(query.as_deref(), "_format").as_deref())?;
    let indented = wants_pretty(query.as_deref())?;
    let coding = Taken::by(&headers).and_then(|taken| taken.coding).filter(|_| !indented);
    let making = tokio::task::spawn_blocking(move || {
        let made = capability.today(&service)?;
        match coding {
            Some(coding) => made.coded(coding),
            None => Ok(made.plain.clone()),
        }
    });
    let statement = making.await.map_err(Error::internal)??;
    let mut response = Response::new(if indented {
        Body::from(pretty(&statement))
    } else {
        Body::from(statement)
    });
    response.headers_mut().insert(CONTENT_TYPE, FHIR_JSON);
    if let Some(coding) = coding {
        response.headers_mut().insert(CONTENT_ENCODING, coding.name());
    }
    Ok(response)
}

impl Capability {
    fn today(&self, service: &Service) -> Result<Arc<Made>, Error> {
        let now = DateTime::from_timestamp(service.store.clock().now(), 0).unwrap_or_default();
        let date = now.date_naive();
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(made) = made.filter(|made| made.date == date) {
            return Ok(made);
        }
        let statement = statement(&service.base_url, date, &service.engine);
        let made = Arc::new(Made {
            date,
            plain: Bytes::from(serde_json::to_vec(&statement).map_err(Error::internal)?),
            coded: Default::default(),
        });
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        Ok(made)
    }
}

impl Made {
    fn coded(&self, coding: Coding) -> Result<Bytes, Error> {
        let slot = &self.coded[match coding {
            Coding::Zstd => 0,
            Coding::Gzip => 1,
        }];
        if let Some(coded) = slot.get() {
            return Ok(coded.clone());
        }
        let coded = Bytes::from(coding.encode(&self.plain).map_err(Error::internal)?);
        Ok(slot.get_or_init(|| coded).clone())
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
    documentation: &'static str,
    security: Security,
    resource: Vec<Resource<'a>>,
    interaction: [Interaction; 1],
    #[serde(rename = "searchParam")]
    search_param: Vec<Parameter<'a>>,
    compartment: [&'static str; 1],
}

#[derive(Serialize)]
struct Security {
    extension: [OauthUris; 1],
    cors: bool,
    service: [Concept; 1],
    description: &'static str,
}

/// The authorization and token endpoints, for clients that do not read the SMART configuration.
#[derive(Serialize)]
struct OauthUris {
    url: &'static str,
    extension: [Address; 2],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    url: &'static str,
    value_uri: String,
}

#[derive(Serialize)]
struct Concept {
    coding: [Coded; 1],
    text: &'static str,
}

#[derive(Serialize)]
struct Coded {
    system: &'static str,
    code: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource<'a> {
    #[serde(rename = "type")]
    resource_type: &'static str,
    interaction: [Interaction; 2],
    versioning: &'static str,
    conditional_read: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_rev_include: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    search_param: Vec<Parameter<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operation: Vec<NamedOperation>,
}

/// An operation's name, which begins with a dollar sign, and the URL of its definition.
#[derive(Serialize)]
struct NamedOperation {
    name: &'static str,
    definition: &'static str,
}

#[derive(Serialize)]
struct Interaction {
    code: &'static str,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a str>,
    #[serde(rename = "type")]
    search_type: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    documentation: Cow<'static, str>,
}

/// A text about features of searches for which R4's CapabilityStatement has no element.
const DOCUMENTATION: &str = "The documentation of a search parameter lists its modifiers and the prefixes of its values. \
     Parameters of references can be chained (subject:Patient.name). _sort takes all but composite and special parameters, _text and \
     _content. Types are searched by GET and by POST to \
     _search, several at once at the base address, and those of a Patient at Patient/[id]/[type], all at Patient/[id]/*. $PATIENT_ID in a path or value \
     stands for the patient of the token. A page ends where its matches come to 16 MiB.";

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
            documentation: DOCUMENTATION,
            security: Security {
                extension: [OauthUris {
                    url: "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris",
                    extension: [
                        Address {
                            url: "authorize",
                            value_uri: discovery::authorization_address(base_url),
                        },
                        Address {
                            url: "token",
                            value_uri: discovery::token_address(base_url),
                        },
                    ],
                }],
                cors: false,
                service: [Concept {
                    coding: [Coded {
                        system: "http://terminology.hl7.org/CodeSystem/restful-security-service",
                        code: "SMART-on-FHIR",
                    }],
                    text: "SMART App Launch, with bearer access tokens (RFC 6750)",
                }],
                description: "Send a patient or application access token as Authorization: Bearer; /fhir/metadata needs none",
            },
            interaction: [Interaction { code: "search-system" }],
            resource: resources(engine),
            search_param: of_all(engine),
            compartment: ["http://hl7.org/fhir/CompartmentDefinition/patient"],
        }],
    }
}

fn resources(engine: &Engine) -> Vec<Resource<'_>> {
    let mut including = Includes::of(engine);
    facts()
        .resources()
        .map(|type_id| Resource {
            resource_type: facts().get(type_id).name,
            interaction: [Interaction { code: "read" }, Interaction { code: "search-type" }],
            versioning: "versioned",
            conditional_read: "full-support",
            search_include: including.forward.remove(&type_id).unwrap_or_default(),
            search_rev_include: including.reverse.remove(&type_id).unwrap_or_default(),
            search_param: engine
                .supported(type_id)
                .map(|parameter| described(engine, type_id, parameter))
                .collect(),
            operation: operations(facts().get(type_id).name),
        })
        .collect()
}

/// Returns the operations on resources of a type.
fn operations(resource_type: &str) -> Vec<NamedOperation> {
    let of_patients = patient::OPERATIONS.iter().filter(|_| resource_type == "Patient");
    let operation = |(name, definition): &(&'static str, &'static str)| NamedOperation { name, definition };
    of_patients.map(operation).collect()
}

/// The values of `_include` and `_revinclude` for searches of each type, as `Type:code`. `*` is accepted, too, but is
/// not listed.
#[derive(Default)]
struct Includes {
    forward: FxHashMap<TypeId, Vec<String>>,
    reverse: FxHashMap<TypeId, Vec<String>>,
}

impl Includes {
    /// Lists the reference parameters of all types. Leaves out a parameter if there is no type to which its references
    /// can lead.
    fn of(engine: &Engine) -> Includes {
        let mut found = Includes::default();
        for source in facts().resources() {
            for parameter in engine
                .supported(source)
                .filter(|parameter| parameter.search_type == SearchType::Reference)
            {
                let pair = format!("{}:{}", facts().get(source).name, parameter.code);
                let targets = engine.led_to(source, parameter);
                for target in &targets {
                    found.reverse.entry(*target).or_default().push(pair.clone());
                }
                if targets.is_empty() {
                    continue;
                }
                found.forward.entry(source).or_default().push(pair);
            }
        }
        found
    }
}

fn described<'a>(engine: &Engine, type_id: TypeId, parameter: &'a SearchParameter) -> Parameter<'a> {
    let mut words: Vec<String> = engine
        .modifiers(type_id, parameter)
        .iter()
        .map(|modifier| format!(":{modifier}"))
        .collect();
    if engine.takes_prefixes(parameter) {
        words.extend(PREFIXES.map(str::to_owned));
    }
    Parameter {
        name: &parameter.code,
        definition: Some(&parameter.url),
        search_type: parameter.search_type.as_str(),
        documentation: words.join(" ").into(),
    }
}

/// Returns the parameters of searches over all types: those that R4 defines for every resource, and those in
/// `COMMON`, which have no SearchParameter.
fn of_all(engine: &Engine) -> Vec<Parameter<'_>> {
    let patient = facts().lookup("Patient").into_iter();
    let of_patients = patient.flat_map(|type_id| engine.supported(type_id).map(move |parameter| (type_id, parameter)));
    let defined = of_patients
        .filter(|(_, parameter)| parameter.code.starts_with('_'))
        .map(|(type_id, parameter)| described(engine, type_id, of_any_type(engine, parameter)));
    let others = COMMON.iter().map(|common| Parameter {
        name: common.name,
        definition: None,
        search_type: common.search_type,
        documentation: common.documentation.into(),
    });
    defined.chain(others).collect()
}

/// Returns the parameter with the same code that is defined for all types. Without one, returns this parameter.
fn of_any_type<'a>(engine: &'a Engine, parameter: &'a SearchParameter) -> &'a SearchParameter {
    let is_general = |parameter: &&SearchParameter| parameter.bases.iter().any(|base| facts().get(*base).is_abstract);
    let all = facts().resources().flat_map(|type_id| engine.supported(type_id));
    let mut general = all.map(|parameter| &**parameter).filter(is_general);
    if is_general(&parameter) {
        parameter
    } else {
        general.find(|other| other.code == parameter.code).unwrap_or(parameter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::search_parameter::SearchParameters;
    use crate::lake::Lake;

    #[test]
    fn parameters_of_all_types_are_no_types_own() {
        let folder = tempfile::tempdir().unwrap();
        let own = "http://example.org/SearchParameter/patient-id";
        let parameter = serde_json::json!({
            "resourceType": "SearchParameter", "url": own, "name": "id", "status": "active", "description": "id",
            "code": "_id", "base": ["Patient"], "type": "token", "expression": "Patient.id",
        });
        std::fs::write(folder.path().join("id.json"), parameter.to_string()).unwrap();
        let parameters = SearchParameters::builtin().with_folder(folder.path()).unwrap();
        let lake = Lake::open_or_create(folder.path().join("lake")).unwrap();
        let engine = Engine::new(lake, Arc::new(parameters));
        let id = |parameters: &[Parameter<'_>]| {
            let id = parameters.iter().find(|parameter| parameter.name == "_id");
            id.and_then(|id| id.definition).unwrap_or_default().to_owned()
        };
        assert_eq!(id(&of_all(&engine)), "http://hl7.org/fhir/SearchParameter/Resource-id");
        let patient = resources(&engine)
            .into_iter()
            .find(|resource| resource.resource_type == "Patient");
        assert_eq!(id(&patient.unwrap().search_param), own);
    }
}
