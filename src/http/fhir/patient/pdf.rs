//! `GET /fhir/Patient/[id]/$pdf`: returns a patient's records as a PDF, or as a ZIP archive with a PDF for each
//! source.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::Response;
use chrono::DateTime;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::json;

use super::away::{Away, Budget, Here};
use super::sent;
use super::sources::{Chosen, chosen};
use super::subject::Named;
use super::wanted::Wanted;
use crate::consent::{Access, Authorization, LOCAL_APPLICATION};
use crate::http::auth::Caller;
use crate::http::described::with_handling;
use crate::http::error::Error;
use crate::http::fhir::negotiate::Preferred;
use crate::http::routes::{Operation, Route, schema};
use crate::http::server::turns::Turn;
use crate::http::service::Service;
use crate::http::spool::{Full, Spool};
use crate::lake::Scope;
use crate::patient::pdf::{self, Export, Form, Held, Part, Source, Stop};
use crate::patient::{PatientError, Record};
use crate::search::raw::RawParameter;
use crate::search::{Handling, shortened};

const TOTAL: HeaderName = HeaderName::from_static("x-pdf-sources-total");
const FAILED: HeaderName = HeaderName::from_static("x-pdf-sources-failed");
const FAILED_NAMES: HeaderName = HeaderName::from_static("x-pdf-sources-failed-names");
const RESOURCES: HeaderName = HeaderName::from_static("x-pdf-resource-count");

const TOO_LONG: &str = "the file would be too long; ask for one source at a time, by patient-authorization-id";

/// The characters that are percent-encoded in the header with sources' names: control characters, the comma between
/// names, and the percent sign. Characters outside of ASCII, which clients read in different ways, are always
/// encoded.
const ENCODED: &AsciiSet = &CONTROLS.add(b',').add(b'%');

/// Returns the route of the operation.
pub(super) fn routes() -> Vec<Route> {
    let operation = Operation::new(
        "pdf",
        "A patient's records as a PDF document, or as a ZIP archive with one for each source",
    )
    .query(
        "patient-authorization-id",
        schema(
            "string",
            "only what this authorization brought; it is one of the token's consent, or of the application and the Patient",
        ),
    )
    .query(
        "_format",
        json!({"type": "string", "enum": ["pdf", "zip", "application/pdf", "application/zip"],
            "description": "zip for an archive with a file for each source"}),
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
        "their names, between commas; what is not ASCII, commas and percent signs are percent-encoded in UTF-8; absent if \
         there are none",
    )
    .response_header(200, "X-PDF-Resource-Count", "how many resources are in it")
    .response_header(200, "Content-Disposition", "attachment, with a file name for the Patient");
    vec![Route::at("/fhir/Patient/{id}/$pdf").get(answer, with_handling(operation))]
}

/// The parameters of the operation.
struct Asked {
    authorization: Option<String>,
    is_archive: bool,
}

impl Asked {
    /// Reads the parameters. Unknown parameters are refused if `handling` is strict, and ignored if it is lenient.
    fn read(parameters: &[RawParameter], handling: Handling) -> Result<Asked, Error> {
        let mut asked = Asked {
            authorization: None,
            is_archive: false,
        };
        for RawParameter { name, modifier, value } in parameters {
            match (name.as_str(), modifier) {
                ("patient-authorization-id", None) => asked.authorization = Some(value.clone()),
                ("_format", None) => {
                    asked.is_archive = match value.as_str() {
                        "zip" | "application/zip" => true,
                        "" | "pdf" | "application/pdf" => false,
                        _ => return Err(Error::Invalid("_format must be pdf or zip".to_owned())),
                    }
                }
                (name, _) if handling == Handling::Strict => return Err(PatientError::Unknown(shortened(name)).into()),
                _ => {}
            }
        }
        Ok(asked)
    }
}

/// A source, with its records as they were read.
struct Read {
    source: Source,
    /// The scope and the Patients of the records. `None` if no records of the source were ever stored.
    whose: Option<(Arc<Scope>, Vec<String>)>,
    /// The records. `None` if the source's Patient does not exist, or if no records of it were ever stored.
    record: Option<Record>,
    own: Arc<Scope>,
    authorization: Option<Authorization>,
    away: Away,
}

impl Read {
    fn of(chosen: Chosen) -> Read {
        Read {
            source: chosen.source,
            whose: chosen.has_records.then_some((chosen.scope, chosen.patients)),
            record: None,
            own: chosen.own,
            authorization: chosen.authorization,
            away: Away::default(),
        }
    }

    /// Reads the records. If one of several sources has no Patient, it has no records, and the PDF says so.
    async fn gather(&mut self, service: &Service, is_alone: bool) -> Result<(), Error> {
        let Some((scope, patients)) = &self.whose else {
            return Ok(());
        };
        let now = service.store.clock().now() * 1_000_000;
        self.record = match pdf::gather(&service.engine, scope, patients, &service.fhir_base, now).await {
            Ok(record) => Some(record),
            Err(PatientError::NoPatient(_)) if !is_alone => None,
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }

    /// Fetches from the source the documents to which its records refer.
    async fn fetch(&mut self, service: &Arc<Service>, budget: &Budget) -> Result<(), Error> {
        let named = self.record.as_ref().map(pdf::addresses).unwrap_or_default();
        let authorization = self.authorization.clone();
        self.away = budget.fetch(service, named, authorization).await?;
        Ok(())
    }

    fn here<'h>(&'h self, service: &'h Service) -> Here<'h> {
        let held = Held {
            lake: &service.lake,
            scope: &self.own,
            base: &service.fhir_base,
        };
        Here { held, away: &self.away }
    }
}

pub(in crate::http) async fn answer(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let preferred = Preferred::by(&headers);
    let named = Named::in_path(id, &access)?;
    let asked = Asked::read(&sent::in_query(query.as_deref())?, preferred.handling())?;
    if &*access.scope.application != LOCAL_APPLICATION {
        service.throttle.charge_record(&access.subject)?;
    }
    let turn = service.document_turn(&access.subject).await?;
    let wanted = Document {
        service: &service,
        access: &access,
        named: &named,
        asked: &asked,
    };
    let (drawn, total) = wanted.drawn(turn).await?;
    let patient = named.patients.first().map_or("", String::as_str);
    let mut response = response(patient, asked.is_archive, total, drawn)?;
    preferred.confirm(response.headers_mut());
    Ok(response)
}

/// A file that is complete. The credential's turn is held until the file was sent.
struct Drawn {
    export: Export,
    file: Spool,
    turn: Turn,
}

/// A document that a client has asked for.
struct Document<'r> {
    service: &'r Arc<Service>,
    access: &'r Access,
    named: &'r Named,
    asked: &'r Asked,
}

impl Document<'_> {
    /// Writes the PDF or the archive of all sources. The work stops if the client disconnects. If it takes long, it is
    /// begun again in a turn for slow documents. Also returns the number of sources.
    async fn drawn(&self, turn: Turn) -> Result<(Drawn, usize), Error> {
        let (_wanted, stop) = Wanted::begin();
        let turn = match self.drawn_in(turn, stop.clone(), Pace::Quick).await? {
            (Step::Done(drawn), total) => return Ok((*drawn, total)),
            (Step::Slow(turn), _) => turn,
        };
        // Many may wait here, so none of them holds its records and documents meanwhile.
        let turn = self.service.slow_document_turn(turn).await?;
        match self.drawn_in(turn, stop, Pace::Slow).await? {
            (Step::Done(drawn), total) => Ok((*drawn, total)),
            (Step::Slow(_), _) => Err(Error::internal("a slow document was given up")),
        }
    }

    async fn drawn_in(&self, turn: Turn, stop: Stop, pace: Pace) -> Result<(Step, usize), Error> {
        let now = self.service.store.clock().now();
        let export = Export::new(DateTime::from_timestamp(now, 0).unwrap_or_default(), "Tabularium")
            .with_base(&self.service.fhir_base)
            .until(stop);
        let form = if self.asked.is_archive {
            Form::Archive
        } else {
            Form::Document
        };
        let (read, turn) = self.read(turn).await?;
        let total = read.len();
        Ok((drawn(self.service, read, export, form, turn, pace).await?, total))
    }

    /// Reads the records of each source, and fetches the documents to which they refer.
    async fn read(&self, turn: Turn) -> Result<(Vec<Read>, Turn), Error> {
        let chosen = chosen(
            self.service,
            self.access,
            self.named,
            self.asked.authorization.as_deref(),
        )?;
        let read = chosen.into_iter().map(Read::of).collect();
        let (mut read, turn) = gathered(self.service, read, turn).await?;
        let budget = Budget::default();
        let fetching = read.iter_mut().map(|read| read.fetch(self.service, &budget));
        futures::future::try_join_all(fetching).await?;
        Ok((read, turn))
    }
}

/// Whether a document must be quick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    Quick,
    Slow,
}

/// What came of the work in one turn.
enum Step {
    Done(Box<Drawn>),
    /// The document is not quick.
    Slow(Turn),
}

async fn drawn(
    service: &Arc<Service>,
    read: Vec<Read>,
    export: Export,
    form: Form,
    turn: Turn,
    pace: Pace,
) -> Result<Step, Error> {
    let drawing = service.blocking(move |service| {
        let (file, export) = {
            let here: Vec<Here<'_>> = read.iter().map(|read| read.here(service)).collect();
            let parts = read.iter().zip(&here).map(|(read, here)| Part {
                source: &read.source,
                record: read.record.as_ref(),
                documents: here,
            });
            let parts: Vec<Part<'_>> = parts.collect();
            let reader = &service.reader;
            match pace {
                Pace::Quick => pdf::quickly(reader, export, &parts, form, service.spool()),
                Pace::Slow => {
                    let made = pdf::made(&reader.after_quick(), export, &parts, form, || service.spool());
                    (made.0, made.1.map(Some))
                }
            }
        };
        match export {
            Ok(Some(export)) => Ok(Step::Done(Box::new(Drawn {
                export,
                file,
                turn: turn.computed(),
            }))),
            Ok(None) => Ok(Step::Slow(turn)),
            Err(error) => Err(match file.full() {
                Some(Full::One) => Error::TooCostly(TOO_LONG.to_owned()),
                Some(Full::All) => Error::Busy,
                None => Error::internal(error),
            }),
        }
    });
    drawing.await?
}

/// Reads the records of each source. The turn is kept until the work ends, even if the client disconnects, because the
/// limit counts running work.
async fn gathered(service: &Arc<Service>, mut read: Vec<Read>, turn: Turn) -> Result<(Vec<Read>, Turn), Error> {
    let gathering = {
        let service = service.clone();
        async move {
            let is_alone = read.len() == 1;
            for one in &mut read {
                one.gather(&service, is_alone).await?;
            }
            Ok((read, turn))
        }
    };
    service.workers.run(gathering).await?
}

fn response(patient: &str, is_archive: bool, total: usize, drawn: Drawn) -> Result<Response, Error> {
    let Drawn { export, file, turn } = drawn;
    let (length, body): (u64, Body) = file.into_body(turn).map_err(Error::internal)?;
    let mut response = Response::new(body);
    let head: &mut HeaderMap = response.headers_mut();
    let (content_type, ending) = if is_archive {
        ("application/zip", "zip")
    } else {
        ("application/pdf", "pdf")
    };
    head.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    head.insert(CONTENT_LENGTH, length.into());
    let name = format!("attachment; filename=\"{patient}.{ending}\"");
    // This always succeeds, because FHIR ids have only characters that a header may contain.
    if let Ok(name) = HeaderValue::try_from(name) {
        head.insert(CONTENT_DISPOSITION, name);
    }
    head.insert(TOTAL, total.into());
    head.insert(FAILED, export.failed.len().into());
    head.insert(RESOURCES, export.resources.into());
    let failed = export.failed.iter();
    let names: Vec<String> = failed
        .map(|name| utf8_percent_encode(name, ENCODED).to_string())
        .collect();
    if !names.is_empty()
        && let Ok(names) = HeaderValue::try_from(names.join(", "))
    {
        head.insert(FAILED_NAMES, names);
    }
    Ok(response)
}
