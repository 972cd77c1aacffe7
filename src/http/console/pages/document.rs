//! Shows a patient's records as the documents that an application can request: all records in pages, the summary, and
//! the PDF. All records and the summary are shown as HTML. The operator can also download them as the JSON that
//! applications get.

use std::sync::Arc;

use askama::Template;
use axum::body::to_bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::CONTENT_DISPOSITION;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::narrative::narrative;
use super::super::shown::page::{Frame, html, page_or_error, private};
use super::super::shown::tenant::Tenant;
use super::super::shown::words::Moment;
use super::patient::checked;
use super::table::{Row, encoded, links, row};
use crate::http::auth::Caller;
use crate::http::error::Error;
use crate::http::fhir::patient::{everything, pdf, summary};
use crate::http::server::request_id::RequestId;
use crate::http::service::Service;

/// The query for the first page of all records. Links in the engine's response lead to the other pages.
const FIRST: &str = "_count=100";

/// A document of a patient's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    Everything,
    Summary,
    Pdf,
}

impl Document {
    fn parse(name: &str) -> Result<Document, Error> {
        match name {
            "everything" => Ok(Document::Everything),
            "summary" => Ok(Document::Summary),
            "pdf" => Ok(Document::Pdf),
            _ => Err(Error::Unknown("there is no such document".to_owned())),
        }
    }

    /// Returns the document's name, for URLs and the audit log.
    fn name(self) -> &'static str {
        match self {
            Document::Everything => "everything",
            Document::Summary => "summary",
            Document::Pdf => "pdf",
        }
    }
}

#[derive(Template)]
#[template(path = "console/everything.html")]
struct Everything<'a> {
    frame: &'a Frame,
    id: &'a str,
    /// The encoded query of this page, for the link to its JSON.
    query: String,
    rows: Vec<Row>,
    links: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "console/summary.html")]
struct Summary<'a> {
    frame: &'a Frame,
    id: &'a str,
    title: String,
    made: Moment,
    sections: Vec<Section>,
}

struct Section {
    title: String,
    /// The section's narrative, as HTML without attributes.
    html: String,
}

/// Answers `GET /console/patient/{mode}/{application}/{id}/{document}`. With `format=json` the response is the
/// document as applications get it.
pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application, id, name)): Path<(String, String, String, String)>,
    RawQuery(sent): RawQuery,
    request: RequestId,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "stored", place.as_ref().ok());
    let work = async {
        let place = place?;
        checked(&id)?;
        let document = Document::parse(&name)?;
        let fields = Fields::of_query(sent.as_deref());
        let as_json = fields.get("format") == Some("json");
        operator.looks_at(&service, document.name(), &place, &id).await?;
        let caller = Caller(place.access(operator.session.ends_at));
        let (state, path, none) = (State(service.clone()), Path(id.clone()), HeaderMap::new());
        let first = if as_json { "" } else { FIRST };
        let query = fields.get("q").unwrap_or(first);
        let form = if as_json { "_pretty=true" } else { "_pretty=false" };
        let asked = match query {
            "" => form.to_owned(),
            query => format!("{query}&{form}"),
        };
        let answer = match document {
            Document::Everything => everything::by_get(state, caller, path, RawQuery(Some(asked)), request, none).await,
            Document::Summary => summary::by_get(state, caller, path, RawQuery(Some(form.to_owned())), none).await,
            Document::Pdf => pdf::answer(state, caller, path, RawQuery(None), HeaderMap::new()).await,
        }?;
        match document {
            Document::Everything if !as_json => {
                let bundle = bundle(answer).await?;
                // The engine always links to the first page. So the Bundle is the only page if it has neither a link
                // `previous` nor a link `next`.
                let is_alone = bundle["link"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|link| link["relation"] != "previous" && link["relation"] != "next");
                let page = Everything {
                    frame: &frame,
                    id: &id,
                    query: encoded(query),
                    rows: bundle["entry"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(row)
                        .collect(),
                    links: if is_alone { Vec::new() } else { links(&bundle) },
                };
                Ok(html(StatusCode::OK, &page))
            }
            Document::Summary if !as_json => {
                let bundle = bundle(answer).await?;
                Ok(html(StatusCode::OK, &summarized(&frame, &id, &bundle)))
            }
            document => Ok(downloaded(answer, document, &id)),
        }
    };
    page_or_error(&frame, work).await
}

/// Reads the Bundle in a response. The engine limits its size.
async fn bundle(answer: Response) -> Result<Value, Error> {
    let body = to_bytes(answer.into_body(), usize::MAX)
        .await
        .map_err(Error::internal)?;
    serde_json::from_slice(&body).map_err(Error::internal)
}

fn summarized<'a>(frame: &'a Frame, id: &'a str, bundle: &Value) -> Summary<'a> {
    let composition = &bundle["entry"][0]["resource"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sections = composition["section"].as_array().into_iter().flatten();
    let section = |section: &Value| {
        Some(Section {
            title: text(&section["title"]),
            html: narrative(section["text"]["div"].as_str()?),
        })
    };
    Summary {
        frame,
        id,
        title: text(&composition["title"]),
        made: Moment::parse(composition["date"].as_str().unwrap_or_default()),
        sections: sections.filter_map(section).collect(),
    }
}

/// Marks a JSON document as a download, and adds the headers of private responses. The response with a PDF is marked as
/// a download already.
fn downloaded(mut answer: Response, document: Document, id: &str) -> Response {
    let name = document.name();
    if document != Document::Pdf
        && let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{id}-{name}.json\""))
    {
        answer.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    private(&mut answer);
    answer
}
