//! `POST /fhir/ViewDefinition/$run`: the rows of a view that comes with the request, streamed.
//!
//! An answer begins when the first rows are there, so that what is wrong with a view over the data is still an
//! OperationOutcome; an error behind that breaks the connection off.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, LINK};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::auth::Caller;
use super::error::Error;
use super::negotiate::parameter;
use super::run_request::RunRequest;
use super::service::Service;
use super::{body, patient_wildcard, view_format};
use crate::consent::Access;
use crate::fhir::facts;
use crate::lake::ScopedTable;
use crate::search::Pin;
use crate::views::{Format, Page, Pieces, Resources, Run, RunError, View};

const JSON: [&str; 2] = ["application/json", "application/fhir+json"];
const X_RESOURCE_COUNT: HeaderName = HeaderName::from_static("x-resource-count");
const X_NEXT_LINK: HeaderName = HeaderName::from_static("x-next-link");
/// Pieces that wait for the connection at most.
const WAITING: usize = 2;

/// Runs the view.
pub(super) async fn run(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let sent = body::read(&headers, sent, &service.limits).await?;
    if !body::is_typed(&headers, &JSON) {
        return Err(Error::MediaType(JSON[0]));
    }
    let request = RunRequest::parse(&sent)?;
    let query = Query::parse(query.as_deref())?;
    let format = match view_format::chosen(request.format, query.format.as_deref(), &headers)? {
        Format::Csv { .. } => Format::Csv { header: request.header },
        other => other,
    };
    let view = View::parse(request.view.get().as_bytes()).map_err(|error| Error::Invalid(error.to_string()))?;
    let turn = service.view_turn().await?;
    let work = tokio::task::spawn_blocking(move || Work::plan(&service, &access, request, view, &query));
    let work = work.await.map_err(Error::internal)??;
    answer(work, format, turn).await
}

/// What stands in the URL.
#[derive(Debug, Default)]
struct Query {
    count: Option<usize>,
    offset: usize,
    pin: Option<Pin>,
    format: Option<String>,
}

impl Query {
    fn parse(query: Option<&str>) -> Result<Query, Error> {
        let number = |name: &'static str, least: usize| {
            let parsed =
                parameter(query, name).map(|text| text.parse::<usize>().ok().filter(|number| *number >= least));
            let wrong = || Error::Invalid(format!("{name} is a whole number of at least {least}"));
            parsed.map(|number| number.ok_or_else(wrong)).transpose()
        };
        let pin = parameter(query, "_tag").map(|text| Pin::parse(&text));
        Ok(Query {
            count: number("_count", 1)?,
            offset: number("_offset", 0)?.unwrap_or(0),
            pin: pin
                .map(|pin| pin.ok_or_else(|| Error::Invalid("_tag is none that a link has".to_owned())))
                .transpose()?,
            format: parameter(query, "_format"),
        })
    }
}

/// A view planned, with what the answer says beside the rows.
struct Work {
    run: Run,
    /// Source resources on this page.
    resources: usize,
    next: Option<String>,
}

impl Work {
    fn plan(service: &Service, access: &Access, request: RunRequest, view: View, query: &Query) -> Result<Work, Error> {
        let picture = match query.pin {
            None => service.lake.picture(),
            Some(Pin(snapshot)) => service.lake.picture_at(snapshot).map_err(RunError::from)?,
        };
        let table = service.lake.table(&picture, view.resource(), &access.scope);
        let patients = patients(&request, access, &table)?;
        let owners = match (&patients, access.patients()) {
            (Some(patients), None) => {
                let application = &access.scope.application;
                Some(
                    patients
                        .iter()
                        .flat_map(|patient| service.lake.owners_of(application, patient))
                        .collect(),
                )
            }
            _ => None,
        };
        let resources = Resources {
            patients,
            owners,
            since: request.since,
            page: query.page(),
        };
        let total = futures::executor::block_on(resources.count(&table))?;
        let left = total.saturating_sub(query.offset);
        let more = query.count.filter(|count| *count < left);
        let next = more.map(|count| {
            let mut query_text = form_urlencoded::Serializer::new(String::new());
            query_text.append_pair("_count", &count.to_string());
            query_text.append_pair("_offset", &(query.offset + count).to_string());
            query_text.append_pair("_tag", &Pin(picture.snapshot).text());
            if let Some(format) = &query.format {
                query_text.append_pair("_format", format);
            }
            format!("{}ViewDefinition/$run?{}", service.fhir_base, query_text.finish())
        });
        let run = futures::executor::block_on(Run::new(&table, Arc::new(view), &resources, request.limit))?;
        Ok(Work {
            run,
            resources: more.unwrap_or(left),
            next,
        })
    }
}

impl Query {
    fn page(&self) -> Option<Page> {
        let paged = self.count.is_some() || self.offset > 0;
        paged.then_some(Page {
            offset: self.offset,
            count: self.count,
        })
    }
}

/// The Patients that the request keeps to: the one it names, the members of its Groups, those of both if it names both.
fn patients(request: &RunRequest, access: &Access, table: &ScopedTable) -> Result<Option<Vec<String>>, Error> {
    let named = request
        .patient
        .as_ref()
        .map(|id| patient_wildcard::in_body(id, access))
        .transpose()?;
    if request.groups.is_empty() {
        return Ok(named);
    }
    if access.patients().is_some() {
        return Err(Error::Processing(
            "the parameter group is for application tokens, and this is a patient's".to_owned(),
        ));
    }
    let mut members = Vec::new();
    for id in &request.groups {
        members.extend(members_of(id, table)?);
    }
    members.sort_unstable();
    members.dedup();
    if let Some(named) = named {
        members.retain(|member| named.contains(member));
    }
    Ok(Some(members))
}

/// Ids of the Patients that are members of a Group of the caller's.
fn members_of(id: &str, table: &ScopedTable) -> Result<Vec<String>, Error> {
    let ty = facts()
        .lookup("Group")
        .ok_or_else(|| Error::internal("R4 has Groups"))?;
    let found = table.other(ty).read(id).map_err(Error::internal)?;
    let found = found.ok_or_else(|| Error::NotFound {
        ty: "Group".to_owned(),
        id: id.to_owned(),
    })?;
    let group: serde_json::Value = serde_json::from_slice(&found.resource).map_err(Error::internal)?;
    let members = group["member"].as_array().map(Vec::as_slice).unwrap_or_default();
    let current = members.iter().filter(|member| member["inactive"] != true);
    let patient = |member: &serde_json::Value| {
        let id = member["entity"]["reference"].as_str()?.strip_prefix("Patient/")?;
        Some(id.split('/').next().unwrap_or(id).to_owned())
    };
    Ok(current.filter_map(patient).collect())
}

async fn answer(work: Work, format: Format, turn: OwnedSemaphorePermit) -> Result<Response, Error> {
    let Work { run, resources, next } = work;
    let (before, after) = match format {
        Format::Json => envelope(resources, next.as_deref()),
        _ => (Vec::new(), Vec::new()),
    };
    let body = stream(move || run.rows().pieces(format), before, after, turn).await?;
    let mut response = Response::new(body);
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    head.insert(X_RESOURCE_COUNT, HeaderValue::from(resources));
    if let Some(next) = next {
        let link = HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")).map_err(Error::internal)?;
        head.insert(LINK, link);
        head.insert(X_NEXT_LINK, HeaderValue::from_str(&next).map_err(Error::internal)?);
    }
    Ok(response)
}

/// What stands around the rows in a JSON answer.
fn envelope(resources: usize, next: Option<&str>) -> (Vec<u8>, Vec<u8>) {
    let mut before = format!("{{\"resourceCount\":{resources},");
    if let Some(next) = next {
        let link = serde_json::json!([{"relation": "next", "url": next}]);
        before.push_str(&format!("\"link\":{link},"));
    }
    before.push_str("\"rows\":");
    (before.into_bytes(), b"}".to_vec())
}

/// A body of pieces that a thread of its own computes, ahead of the connection by a few. A client that leaves stops it.
async fn stream(
    pieces: impl FnOnce() -> Pieces + Send + 'static,
    before: Vec<u8>,
    after: Vec<u8>,
    turn: OwnedSemaphorePermit,
) -> Result<Body, Error> {
    let (begun, first) = oneshot::channel::<Result<Vec<u8>, RunError>>();
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(WAITING);
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let mut pieces = pieces();
        let mut start = before;
        // The first piece may be no more than a heading: the second shows whether there are rows.
        for _ in 0..2 {
            match pieces.next() {
                Some(Ok(piece)) => start.extend(piece),
                Some(Err(error)) => {
                    // Nobody listens any more where this fails, here and below.
                    let _ = begun.send(Err(error));
                    return;
                }
                None => break,
            }
        }
        let _ = begun.send(Ok(start));
        for piece in pieces {
            let failed = piece.is_err();
            let piece = piece.map(Bytes::from).map_err(|error| {
                tracing::error!(%error, "a view broke off");
                io::Error::other("the view broke off")
            });
            if sender.blocking_send(piece).is_err() || failed {
                return;
            }
        }
        let _ = sender.blocking_send(Ok(Bytes::from(after)));
    });
    let first = first.await.map_err(Error::internal)??;
    let first = futures::stream::iter([Ok(Bytes::from(first))]);
    let rest = futures::stream::unfold(receiver, |mut receiver| async move {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    });
    Ok(Body::from_stream(futures::StreamExt::chain(first, rest)))
}
