//! `GET /fhir/Patient/[id]/$pdf`: a patient's records as pages, or as an archive with a file for each source.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use chrono::DateTime;
use serde_json::json;

use super::away::{self, Away, Here};
use super::sent;
use super::subject::Named;
use crate::consent::{Access, Authorization, AuthorizationType, LOCAL_APPLICATION, Standing};
use crate::http::auth::Caller;
use crate::http::error::Error;
use crate::http::routes::{Operation, Route, schema};
use crate::http::service::Service;
use crate::lake::Scope;
use crate::lake::json::Tape;
use crate::patient::pdf::{self, Export, Held, Part, Source, SourceKind};
use crate::patient::{PatientError, REFERRED, Record, record};
use crate::search::raw::RawParameter;

const TOTAL: HeaderName = HeaderName::from_static("x-pdf-sources-total");
const FAILED: HeaderName = HeaderName::from_static("x-pdf-sources-failed");
const FAILED_NAMES: HeaderName = HeaderName::from_static("x-pdf-sources-failed-names");
const RESOURCES: HeaderName = HeaderName::from_static("x-pdf-resource-count");

/// Types of what records refer to that stand in the document beside those of `$everything`.
const FURTHER: [&str; 2] = ["InsurancePlan", "PractitionerRole"];

/// The route of the operation.
pub(super) fn routes() -> Vec<Route> {
    let operation = Operation::new(
        "pdf",
        "A patient's records as a PDF document, or as a ZIP archive with one for each source",
    )
    .query(
        "patient-authorization-id",
        schema("string", "only what this authorization of the token's consent brought"),
    )
    .query(
        "_format",
        json!({"type": "string", "enum": ["pdf", "zip", "application/pdf", "application/zip"]}),
    )
    .answers(
        &["application/pdf", "application/zip"],
        &json!({"type": "string", "format": "binary"}),
    )
    .response_header(200, "X-PDF-Sources-Total", "how many sources are in it")
    .response_header(
        200,
        "X-PDF-Sources-Failed",
        "how many of them could not be shown in full",
    )
    .response_header(
        200,
        "X-PDF-Sources-Failed-Names",
        "their names, between commas; absent if there are none",
    )
    .response_header(200, "X-PDF-Resource-Count", "how many resources are in it");
    vec![Route::at("/fhir/Patient/{id}/$pdf").get(answer, operation)]
}

/// What is asked for.
struct Asked {
    authorization: Option<String>,
    is_archive: bool,
}

impl Asked {
    fn read(parameters: &[RawParameter]) -> Result<Asked, Error> {
        let mut asked = Asked {
            authorization: None,
            is_archive: false,
        };
        for RawParameter { name, value, .. } in parameters {
            match name.as_str() {
                "patient-authorization-id" => asked.authorization = Some(value.clone()),
                "_format" => {
                    asked.is_archive = match value.as_str() {
                        "zip" | "application/zip" => true,
                        "" | "pdf" | "application/pdf" => false,
                        _ => return Err(Error::Invalid("_format must be pdf or zip".to_owned())),
                    }
                }
                _ => {}
            }
        }
        Ok(asked)
    }
}

/// A source whose records are to be read.
struct Chosen {
    source: Source,
    scope: Arc<Scope>,
    patients: Vec<String>,
    /// Through what its documents are read: the patient's own scope, also where an application sees more.
    own: Arc<Scope>,
    /// By what its documents are fetched that are not here.
    authorization: Option<Authorization>,
}

/// A source whose records were read.
struct Read {
    source: Source,
    /// `None` if its Patient is not there.
    record: Option<Record>,
    own: Arc<Scope>,
    authorization: Option<Authorization>,
    /// The addresses of documents that its records name.
    named: Vec<String>,
    away: Away,
}

impl Read {
    fn here<'h>(&'h self, service: &'h Service) -> Here<'h> {
        let held = Held {
            lake: &service.lake,
            scope: &self.own,
            base: &service.fhir_base,
        };
        Here { held, away: &self.away }
    }
}

async fn answer(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let named = Named::in_path(id, &access)?;
    let asked = Asked::read(&sent::in_query(query.as_deref())?)?;
    if &*access.scope.application != LOCAL_APPLICATION {
        service.throttle.charge_record(&access.subject)?;
    }
    let turn = service.record_turn(&access.subject).await?;
    let chosen = chosen(&service, &access, &named, asked.authorization.as_deref())?;
    let reading = read(service.clone(), named, chosen);
    let (patient, mut read) = service.workers.run(reading).await??;
    for read in &mut read {
        let (named, authorization) = (std::mem::take(&mut read.named), read.authorization.take());
        read.away = away::fetch(&service, named, authorization).await?;
    }
    let now = service.store.clock().now();
    let title = Export::new(DateTime::from_timestamp(now, 0).unwrap_or_default(), "Tabularium");
    let is_archive = asked.is_archive;
    let (total, drawn) = service
        .blocking(move |service| {
            let _turn = turn;
            let here: Vec<Here<'_>> = read.iter().map(|read| read.here(service)).collect();
            let parts = read.iter().zip(&here).map(|(read, here)| Part {
                source: &read.source,
                record: read.record.as_ref(),
                documents: here,
            });
            let parts: Vec<Part<'_>> = parts.collect();
            let drawn = match is_archive {
                true => pdf::archive(title, &parts),
                false => pdf::document(title, &parts),
            };
            Ok::<_, Error>((parts.len(), drawn.map_err(Error::internal)?))
        })
        .await??;
    Ok(response(&patient, is_archive, total, drawn))
}

/// The sources that are asked for, each with what it may show.
fn chosen(service: &Service, access: &Access, named: &Named, only: Option<&str>) -> Result<Vec<Chosen>, Error> {
    // Of an application no authorization is the caller's own: it cannot name one.
    let standing = match (access.patients(), only, named.patients.as_slice()) {
        (Some(_), ..) => service.store.standing(&access.subject),
        (None, None, [patient]) => {
            let Scope { application, mode, .. } = &*access.scope;
            service.store.standing_of_patient(application, *mode, patient)
        }
        (None, ..) => Ok(None),
    };
    let standing = standing.map_err(Error::internal)?;
    let now = service.store.clock().now();
    let sources = standing
        .iter()
        .flat_map(|standing| standing.sources.iter().map(move |source| (standing, source)));
    let shown = sources.filter(|(_, source)| {
        let authorization = &source.authorization;
        let is_named = authorization
            .patient
            .as_ref()
            .is_some_and(|id| named.patients.contains(id));
        authorization.is_active(now) && is_named && only.is_none_or(|only| only == authorization.id)
    });
    let chosen: Vec<Chosen> = shown
        .map(|(standing, source)| connected(service, standing, source))
        .collect();
    match (chosen.is_empty(), only) {
        (false, _) => Ok(chosen),
        // What is not of this consent is unknown to it.
        (true, Some(only)) => Err(Error::Unknown(format!(
            "there is no patient authorization {only:?} here"
        ))),
        (true, None) => Ok(vec![Chosen {
            source: unconnected(service, named)?,
            scope: named.scope.clone(),
            patients: named.patients.clone(),
            own: own(service, named)?,
            authorization: None,
        }]),
    }
}

fn connected(service: &Service, standing: &Standing, source: &crate::consent::Source) -> Chosen {
    let label = source.endpoint.label.first().unwrap_or(&source.endpoint.name);
    let scope = Arc::new(standing.scope(&service.lake, Some(source)));
    Chosen {
        source: Source {
            label: label.clone(),
            name: source.endpoint.name.clone(),
            kind: match source.authorization.ty {
                AuthorizationType::Ial1 => SourceKind::SelfAttested,
                AuthorizationType::Ial2 => SourceKind::Facility,
                _ => SourceKind::Connected,
            },
        },
        own: scope.clone(),
        scope,
        authorization: Some(source.authorization.clone()),
        patients: source.authorization.patient.iter().cloned().collect(),
    }
}

/// What is the named Patient's alone: an application sees others' Binaries, which a record may name.
fn own(service: &Service, named: &Named) -> Result<Arc<Scope>, Error> {
    let Scope {
        application,
        mode,
        patient: None,
    } = &*named.scope
    else {
        return Ok(named.scope.clone());
    };
    // An application names one Patient.
    let patient = named.patients.first().map_or("", String::as_str);
    let scope = service
        .store
        .scope_of_patient(&service.lake, application, *mode, patient);
    scope.map(Arc::new).map_err(Error::internal)
}

/// The source of records that no flow connected, or that an application asks for: by the endpoint that the Patient's
/// tag names.
fn unconnected(service: &Service, named: &Named) -> Result<Source, Error> {
    let patient = crate::fhir::facts().lookup("Patient");
    let picture = service.lake.picture();
    let row = patient.and_then(|ty| {
        let table = service.lake.table(&picture, ty, &named.scope);
        named.patients.iter().find_map(|id| table.read(id).ok().flatten())
    });
    let endpoint = row.and_then(|row| endpoint_of(&row.resource));
    let known = match endpoint {
        Some(id) => service.store.endpoint(&id).map_err(Error::internal)?,
        None => None,
    };
    Ok(match known {
        Some(endpoint) => Source {
            label: endpoint.label.first().cloned().unwrap_or_else(|| endpoint.name.clone()),
            name: endpoint.name,
            kind: SourceKind::Connected,
        },
        None => Source {
            label: "Imported records".to_owned(),
            name: "imported".to_owned(),
            kind: SourceKind::Connected,
        },
    })
}

fn endpoint_of(resource: &[u8]) -> Option<String> {
    let mut tape = Tape::new();
    let tags = tape.parse(resource).ok()?.get("meta")?.get("tag")?;
    let mut tags = tags.items();
    let tag = tags.find(|tag| {
        tag.get_str("system")
            .is_some_and(|system| system.ends_with("/tags/EndpointId"))
    })?;
    tag.get_str("code").map(|code| code.into_owned())
}

/// The records of each source; the primary Patient's id.
async fn read(service: Arc<Service>, named: Named, chosen: Vec<Chosen>) -> Result<(String, Vec<Read>), Error> {
    let now = service.store.clock().now() * 1_000_000;
    let also: Vec<&str> = REFERRED.iter().chain(&FURTHER).copied().collect();
    let alone = chosen.len() == 1;
    let mut read = Vec::with_capacity(chosen.len());
    for chosen in chosen {
        let found = record(&service.engine, &chosen.scope, &chosen.patients, &also, now).await;
        let record = match found {
            Ok(record) => Some(record),
            // One source of several without its Patient is said in the document.
            Err(PatientError::NoPatient(_)) if !alone => None,
            Err(error) => return Err(error.into()),
        };
        read.push(Read {
            named: record.as_ref().map(pdf::addresses).unwrap_or_default(),
            source: chosen.source,
            record,
            own: chosen.own,
            authorization: chosen.authorization,
            away: Away::default(),
        });
    }
    let patient = named.patients.into_iter().next().unwrap_or_default();
    Ok((patient, read))
}

fn response(patient: &str, is_archive: bool, total: usize, (export, bytes): (Export, Vec<u8>)) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let head: &mut HeaderMap = response.headers_mut();
    let (content_type, ending) = match is_archive {
        true => ("application/zip", "zip"),
        false => ("application/pdf", "pdf"),
    };
    head.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    let name = format!("attachment; filename=\"{patient}.{ending}\"");
    // An id of FHIR has no character that a header could not have.
    if let Ok(name) = HeaderValue::try_from(name) {
        head.insert(CONTENT_DISPOSITION, name);
    }
    head.insert(TOTAL, total.into());
    head.insert(FAILED, export.failed.len().into());
    head.insert(RESOURCES, export.resources.into());
    let names: Vec<String> = export
        .failed
        .iter()
        .map(|name| name.replace(|letter: char| letter == ',' || letter.is_control(), " "))
        .collect();
    if !names.is_empty()
        && let Ok(names) = HeaderValue::from_bytes(names.join(", ").as_bytes())
    {
        head.insert(FAILED_NAMES, names);
    }
    response
}
