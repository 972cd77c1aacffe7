//! `ViewDefinition/$validate`: returns all findings about a ViewDefinition, and its columns.
//!
//! Like FHIR's `$validate`, this operation returns one OperationOutcome. The status is 200 whatever it finds, because
//! the validation itself succeeded. An issue's `expression` is the position in the ViewDefinition. Its `diagnostics` is
//! the position in the FHIRPath expression at that place. Programs that want the columns send our own parameter
//! `columns=true`. The response is then a Parameters resource. Its `return` is the outcome, and its `column`s have the
//! parts `name`, `type` (the FHIR type), `sqlType`, `collection` and `description`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};

use super::super::negotiate::{FHIR_JSON, Preferred, json_admitted, parameter, wants_pretty};
use super::super::parameters;
use super::super::parameters::{Given, Parameter};
use super::run::other_method;
use crate::columns::json::Tape;
use crate::columns::json::pretty;
use crate::fhir::outcome::{Issue, IssueType, OperationOutcome};
use crate::http::auth::Caller;
use crate::http::error::{Error, issue};
use crate::http::routes::{Operation, Route, list, named, object, schema};
use crate::http::service::Service;
use crate::http::{body, described};
use crate::search::Handling;
use crate::terminology::Terminology;
use crate::views::{Checked, Column, View};

const JSON: [&str; 2] = ["application/fhir+json", "application/json"];
const COLUMNS: &str = "columns";
/// The values of `mode` that FHIR allows.
const MODES: [&str; 3] = ["create", "update", "profile"];

/// Returns the route of the operation.
pub(in crate::http) fn routes() -> Vec<Route> {
    let columns = json!({"type": "boolean", "default": false,
        "description": "whether the answer is a Parameters resource with the columns for programs to read"});
    let summary =
        "Everything that is to be said about a ViewDefinition, as an OperationOutcome, and the columns it gives";
    let body = "A ViewDefinition, or a Parameters resource with it as the parameter resource";
    let mut sent = schema("object", "ViewDefinition or Parameters");
    sent["additionalProperties"] = json!(true);
    let parameters = object(
        &["resourceType", "parameter"],
        json!({
            "resourceType": {"type": "string", "const": "Parameters"},
            "parameter": list(&json!({"type": "object", "additionalProperties": true})),
        }),
    );
    let parameters = named("Parameters", parameters);
    let operation = Operation::new("validate", summary)
        .query("columns", columns)
        .body(&JSON, body, &sent)
        .body_example(JSON[0], described::view())
        .answers(
            &[described::FHIR],
            &json!({"oneOf": [described::outcome(), parameters]}),
        );
    let route = Route::at("/fhir/ViewDefinition/$validate");
    vec![route.post(by_post, operation).otherwise(other_method)]
}

/// Answers POST: validates the ViewDefinition in the body.
async fn by_post(
    State(service): State<Arc<Service>>,
    Caller(access): Caller,
    uri: Uri,
    headers: HeaderMap,
    sent: Body,
) -> Result<Response, Error> {
    json_admitted(&headers, parameter(uri.query(), "_format").as_deref())?;
    let indented = wants_pretty(uri.query())?;
    let sent = body::read(&headers, sent, &service.limits).await?;
    if !body::is_typed(&headers, &JSON) {
        return Err(Error::MediaType(JSON[0]));
    }
    let request = Request::parse(&sent, uri.query(), Preferred::by(&headers).handling())?;
    let turn = service.search_turn(&access.subject).await?;
    let answer = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        request.answer(service.terminology.clone())
    });
    let answer = answer.await.map_err(Error::internal)?;
    let mut response = Response::new(if indented {
        Body::from(pretty(answer.as_bytes()))
    } else {
        Body::from(answer)
    });
    response.headers_mut().insert(CONTENT_TYPE, FHIR_JSON);
    Ok(response)
}

#[derive(Debug)]
struct Request {
    view: Bytes,
    columns: bool,
}

impl Request {
    fn parse(sent: &Bytes, query: Option<&str>, handling: Handling) -> Result<Request, Error> {
        let mut tape = Tape::new();
        let root = parameters::json(sent, &mut tape)?;
        let (mut view, mut columns) = (None, None);
        let mut unknown = Vec::new();
        let in_body = root.get_str("resourceType").as_deref() == Some("Parameters");
        let of_body = if in_body {
            parameters::of_body(root)?
        } else {
            Vec::new()
        };
        for Parameter { name, value } in of_body {
            match &*name {
                "resource" => {
                    let resource = value.resource().map(|resource| sent.slice(resource.span()));
                    value.once(&mut view, "resource", resource, "a ViewDefinition, as resource")?;
                }
                COLUMNS => value.once(&mut columns, COLUMNS, value.boolean(), "true or false, as valueBoolean")?,
                "mode" => mode(&value)?,
                "profile" => return Err(no_profile()),
                _ => unknown.push(name.into_owned()),
            }
        }
        if !unknown.is_empty() {
            return Err(Error::unknown_parameters(&unknown));
        }
        let mut in_query = None;
        for Parameter { name, value } in parameters::of_query(query) {
            match &*name {
                COLUMNS => value.once(&mut in_query, COLUMNS, value.boolean(), "true or false")?,
                "mode" => mode(&value)?,
                "profile" => return Err(no_profile()),
                "_format" | "_pretty" => {}
                _ => unknown.push(name.into_owned()),
            }
        }
        if handling == Handling::Strict && !unknown.is_empty() {
            return Err(Error::unknown_parameters(&unknown));
        }
        let missing = || {
            Error::parameter(
                "resource",
                IssueType::Required,
                "is missing: it holds the ViewDefinition",
            )
        };
        Ok(Request {
            view: if in_body {
                view.ok_or_else(missing)?
            } else {
                sent.clone()
            },
            columns: parameters::same(COLUMNS, columns, in_query)?.unwrap_or(false),
        })
    }

    fn answer(&self, terminology: Arc<Terminology>) -> String {
        let checked = View::check_with(&self.view, Some(terminology));
        let outcome = outcome(&checked).to_json();
        if !self.columns {
            return outcome;
        }
        let columns = checked.columns().iter().map(|column| format!(",{}", described(column)));
        let columns: String = columns.collect();
        format!(r#"{{"resourceType":"Parameters","parameter":[{{"name":"return","resource":{outcome}}}{columns}]}}"#)
    }
}

fn mode(value: &Given<'_>) -> Result<(), Error> {
    match value.text(&["Code"]) {
        Some(mode) if MODES.contains(&&*mode) => Ok(()),
        _ => Err(value.wrong("mode", "create, update or profile, as valueCode")),
    }
}

fn no_profile() -> Error {
    Error::parameter(
        "profile",
        IssueType::NotSupported,
        "is not supported: what is checked is whether it runs",
    )
}

/// Returns the findings as issues. Adds notes for people: one if the view can be run, and one about each column.
fn outcome(checked: &Checked) -> OperationOutcome {
    let information = |text: String| Issue::information(IssueType::Informational, text);
    let count = checked.columns().len();
    let verdict = checked
        .view()
        .map(|_| information(format!("the ViewDefinition can be run; columns: {count}")));
    let columns = checked.columns().iter().map(|column| {
        let list = if column.collection { ", a list" } else { "" };
        let fhir_type = column.fhir_type.as_deref().unwrap_or("of no single FHIR type");
        let sql = column.sql_type();
        information(format!("column '{}': {fhir_type}{list}; in SQL {sql}", column.name))
    });
    let mut issues = checked.findings().iter().map(issue).chain(verdict).chain(columns);
    let first = issues.next();
    // There is always a first issue: a definition that can be run has a note, and any other has a finding.
    let first = first.unwrap_or_else(|| information("there is nothing to say".to_owned()));
    issues.fold(OperationOutcome::new(first), OperationOutcome::and)
}

fn described(column: &Column) -> Value {
    let mut part = vec![json!({"name": "name", "valueString": column.name})];
    if let Some(fhir_type) = &column.fhir_type {
        part.push(json!({"name": "type", "valueString": fhir_type}));
    }
    part.push(json!({"name": "sqlType", "valueString": column.sql_type()}));
    part.push(json!({"name": "collection", "valueBoolean": column.collection}));
    if let Some(description) = column.description.as_ref().filter(|text| !text.is_empty()) {
        part.push(json!({"name": "description", "valueString": description}));
    }
    json!({"name": "column", "part": part})
}
