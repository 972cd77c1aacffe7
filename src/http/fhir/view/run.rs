//! `ViewDefinition/$run`: streams the rows of a view in the request. SQL on FHIR has three more names for this
//! operation, which all do the same (the module `request` has their parameters).
//!
//! In the ballot of SQL on FHIR 3.0, GET runs a stored view. This server stores no views. So GET always returns an
//! error, which says what to do.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HeaderName, LINK};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::super::explain;
use super::super::negotiate::Preferred;
use super::request::{RunRequest, Sent};
use super::source::Work;
use super::{body as rows_body, format as view_format};
use crate::http::auth::Caller;
use crate::http::body;
use crate::http::described::view as example_view;
use crate::http::error::Error;
use crate::http::routes::{Operation, Route, list, named, object, schema};
use crate::http::server::request_id::RequestId;
use crate::http::server::turns::Turn;
use crate::http::service::Service;
use crate::search::Form;
use crate::views::Format;

const JSON: [&str; 2] = ["application/json", "application/fhir+json"];
const X_RESOURCE_COUNT: HeaderName = HeaderName::from_static("x-resource-count");
const X_NEXT_LINK: HeaderName = HeaderName::from_static("x-next-link");

/// Returns the routes for all names of `$run`.
pub(in crate::http) fn routes() -> Vec<Route> {
    let named = |path, operation| Route::at(path).post(by_post, operation).otherwise(other_method);
    let view = "viewResource";
    // The names that only SQL on FHIR has also allow GET there. So `by_get` answers it, with an error.
    vec![
        named("/fhir/ViewDefinition/$run", described("run", view)),
        named(
            "/fhir/ViewDefinition/$viewdefinition-run",
            described("viewDefinitionRun", view),
        )
        .also_get(by_get),
        named("/fhir/$viewdefinition-run", described("systemViewDefinitionRun", view)).also_get(by_get),
        named("/fhir/$sql-run", described("sqlRun", "subjectResource")).also_get(by_get),
        Route::at("/fhir/ViewDefinition/{id}/$run").otherwise(instance),
        Route::at("/fhir/ViewDefinition/{id}/$viewdefinition-run").otherwise(instance),
        Route::at("/fhir/ViewDefinition/{id}/$validate").otherwise(instance),
    ]
}

/// Describes `$run`, with its parameters in the query or in the body.
fn described(id: &'static str, view: &str) -> Operation {
    let references =
        |of: &str| json!({"type": "array", "items": {"type": "string"}, "description": format!("{of}/id")});
    let whole = |min: usize, about: &str| json!({"type": "integer", "minimum": min, "description": about});
    let body = format!(
        "A ViewDefinition, or a Parameters resource: {view} is the ViewDefinition; resource, repeated, brings \
         resources to run over; the parameters of the query may stand here instead"
    );
    let mut sent = schema("object", "ViewDefinition or Parameters");
    sent["additionalProperties"] = json!(true);
    let row =
        json!({"type": "object", "additionalProperties": true, "description": "a row, by the names of its columns"});
    let text = json!({"type": "string"});
    let explanation = "with X-Explain: the plan with its metrics, and what the scan read and skipped";
    let rows = json!({
        "resourceCount": {"type": "integer", "minimum": 0},
        "explanation": {"type": "string", "description": explanation},
        "link": list(&object(&["relation", "url"], json!({"relation": text, "url": text}))),
        "rows": list(&named("Row", row)),
    });
    let rows = named("Rows", object(&["resourceCount", "rows"], rows));
    Operation::new(id, "The rows of a view")
        .query("patient", references("Patient"))
        .query("group", references("Group"))
        .query(
            "_format",
            json!({"type": "string", "enum": ["json", "csv", "ndjson", "parquet", "parquet-text"],
                "description": "the form of the rows; without it Accept decides, or else json"}),
        )
        .query("_limit", whole(0, "the maximum number of rows"))
        .query(
            "_since",
            json!({"type": "string", "format": "date-time", "description": "only resources that were updated then or later"}),
        )
        .query(
            "header",
            json!({"type": "boolean", "default": true, "description": "whether CSV begins with the names of the columns"}),
        )
        .query("_count", whole(1, "the number of resources on a page, before where of the view"))
        .query("_offset", whole(0, "the number of resources before the page"))
        .header(
            "X-Explain",
            "true or json: the rows as JSON say how they came about, to application tokens on a server that allows it",
        )
        .body(&["application/fhir+json"], &body, &sent)
        .body_example("application/fhir+json", example_view())
        .answers_as(&[
            ("application/json", rows),
            ("text/csv", schema("string", "a line for each row")),
            (
                "application/x-ndjson",
                schema("string", "a JSON object on a line for each row"),
            ),
            (
                "application/vnd.apache.parquet",
                json!({"type": "string", "format": "binary"}),
            ),
        ])
        .response_header(200, "X-Resource-Count", "the number of resources before where of the view")
        .response_header(200, "Link", "the next page, with rel=next; absent on the last page")
        .response_header(200, "X-Next-Link", "the address of the next page; absent on the last page")
}

/// The parts of a request that `$run` needs, except the body.
pub(in crate::http) struct Asked {
    service: Arc<Service>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    id: RequestId,
}

/// Answers POST: runs the view in the body.
async fn by_post(
    State(service): State<Arc<Service>>,
    caller: Caller,
    uri: Uri,
    id: RequestId,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    let sent = body::read(&headers, sent, &service.limits).await?;
    if !body::is_typed(&headers, &JSON) {
        return Err(Error::MediaType(JSON[0]));
    }
    let asked = Asked {
        service,
        caller,
        uri,
        headers,
        id,
    };
    asked.run(Some(&sent)).await
}

/// Answers GET, which cannot contain a view: checks the parameters and returns an error.
async fn by_get(
    State(service): State<Arc<Service>>,
    caller: Caller,
    uri: Uri,
    id: RequestId,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let asked = Asked {
        service,
        caller,
        uri,
        headers,
        id,
    };
    asked.run(None).await
}

impl Asked {
    async fn run(self, sent: Option<&bytes::Bytes>) -> Result<Response, Error> {
        let Asked {
            service,
            caller,
            uri,
            headers,
            id,
        } = self;
        let path = operation(&uri);
        let preferred = Preferred::by(&headers);
        let request = RunRequest::parse(&Sent {
            body: sent,
            query: uri.query(),
            handling: preferred.handling(),
            view_name: match path.as_str() {
                "$sql-run" => "subjectResource",
                _ => "viewResource",
            },
            fhir_base: &service.fhir_base,
            lake: &service.lake,
        })?;
        let format = match view_format::chosen(request.format, &headers)? {
            Format::Csv { .. } => Format::Csv { header: request.header },
            other => other,
        };
        let explained = explain::wanted(&headers, &caller.0, &service)?;
        if explained.is_some() && format != Format::Json {
            let problem = "X-Explain is for rows as JSON: send _format=json";
            return Err(Error::Invalid(problem.to_owned()));
        }
        let turn = service.view_turn(&caller.0.subject).await?;
        let begin = Arc::new(Begin {
            service,
            caller,
            request,
            path,
            format,
            explained,
            turn: Arc::new(turn),
            id,
        });
        let erasures = begin.service.lake.snapshot().erasures();
        let begun = begin.clone().response().await;
        let mut response = match begun {
            // An erasure removed files of the snapshot before they were opened. So plan the view again: the lake now
            // has replacements of these files.
            Err(Error::Internal(_)) if begin.service.lake.erased_since(erasures) => begin.response().await,
            begun => begun,
        }?;
        preferred.confirm(response.headers_mut());
        Ok(response)
    }
}

/// A request to run a view, and its turn.
struct Begin {
    service: Arc<Service>,
    caller: Caller,
    request: RunRequest,
    path: String,
    format: Format,
    /// The form of the explanation that follows the rows, if one is requested.
    explained: Option<Form>,
    turn: Arc<Turn>,
    id: RequestId,
}

impl Begin {
    /// Plans the view over the newest snapshot, or over that of a page link. Waits for the first rows.
    async fn response(self: Arc<Begin>) -> Result<Response, Error> {
        let (format, turn, id, explained) = (self.format, self.turn.clone(), self.id, self.explained);
        let room = self.service.view_room.clone();
        let work = tokio::task::spawn_blocking(move || {
            let explains = explained.is_some();
            Work::plan(
                &self.service,
                &self.caller.0,
                &self.request,
                &self.path,
                format,
                explains,
            )
        });
        let work = work.await.map_err(Error::internal)??;
        let mut response = head(&work, format)?;
        let before = match format {
            Format::Json => envelope(&work),
            _ => Vec::new(),
        };
        let run = work.explained.zip(explained);
        // Called after the last row, when the metrics are complete.
        let after = move || match (format, run) {
            (Format::Json, Some((run, form))) => {
                let text = serde_json::Value::from(run.text(form));
                format!(",\"explanation\":{text}}}").into_bytes()
            }
            (Format::Json, None) => b"}".to_vec(),
            _ => Vec::new(),
        };
        let around = (before, after);
        *response.body_mut() = rows_body::stream(work.rows.within(room), work.stop, format, around, (turn, id)).await?;
        Ok(response)
    }
}

/// Answers the methods that an operation does not support.
pub(in crate::http) async fn other_method(_: Caller, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        // The router adds the header with the allowed methods.
        return StatusCode::NO_CONTENT.into_response();
    }
    Error::NotSupported(format!(
        "{} is not supported here: POST the ViewDefinition, or a Parameters resource that holds it",
        request.method()
    ))
    .into_response()
}

/// Answers operations on one stored view, which do not exist.
async fn instance(_: Caller) -> Error {
    Error::NotSupported(
        "no views are kept here: POST the ViewDefinition, or a Parameters resource that holds it, to \
         ViewDefinition/$run or ViewDefinition/$validate"
            .to_owned(),
    )
}

/// Returns the operation's path relative to the FHIR base URL, for links.
fn operation(uri: &Uri) -> String {
    let path = uri.path();
    path.strip_prefix("/fhir/").unwrap_or(path).replace("%24", "$")
}

fn head(work: &Work, format: Format) -> Result<Response, Error> {
    let mut response = Response::new(Body::empty());
    let head = response.headers_mut();
    head.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    head.insert(X_RESOURCE_COUNT, HeaderValue::from(work.resources));
    if let Some(next) = &work.next {
        let link = HeaderValue::from_str(&format!("<{next}>; rel=\"next\"")).map_err(Error::internal)?;
        head.insert(LINK, link);
        head.insert(X_NEXT_LINK, HeaderValue::from_str(next).map_err(Error::internal)?);
    }
    Ok(response)
}

/// Returns the text before the rows of a JSON response.
fn envelope(work: &Work) -> Vec<u8> {
    let mut before = format!("{{\"resourceCount\":{},", work.resources);
    if let Some(next) = &work.next {
        let link = serde_json::json!([{"relation": "next", "url": next}]);
        before.push_str(&format!("\"link\":{link},"));
    }
    before.push_str("\"rows\":");
    before.into_bytes()
}
