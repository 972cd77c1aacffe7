//! `GET /openapi.json`: the routes for programs, in OpenAPI 3.1. Operations stand here and not in the CapabilityStatement. Whatever
//! stands here is answered; it needs no token, as it says nothing that the documents do not.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::service::Service;

const FHIR: &str = "application/fhir+json";

/// The document.
pub(super) async fn document(State(service): State<Arc<Service>>) -> Response {
    let document = described(&service.base_url);
    ([(CONTENT_TYPE, "application/json")], document.to_string()).into_response()
}

fn described(base_url: &str) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tabularium: health records in columns",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"bearer": []}],
        "paths": paths(),
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            "responses": {"refused": {
                "description": "Why not, as an OperationOutcome",
                "content": {FHIR: {"schema": {"type": "object"}}},
            }},
        },
    })
}

fn paths() -> Value {
    let mut paths = Map::new();
    let open = json!({"get": {
        "operationId": "metadata", "summary": "What this server can do, as a CapabilityStatement", "security": [],
        "responses": answered(&[FHIR]),
    }});
    paths.insert("/fhir/metadata".to_owned(), open);
    let read = json!({"get": {
        "operationId": "read", "summary": "One resource as it was stored",
        "parameters": [
            in_path("type"),
            in_path("id"),
            in_header("If-None-Match", "tags of the versions that the client has"),
            in_header("If-Modified-Since", "when the client's version was made; without If-None-Match"),
        ],
        "responses": versioned(answered(&[FHIR])),
    }});
    paths.insert("/fhir/{type}/{id}".to_owned(), read);
    for (place, id, summary) in [
        (
            "/{type}",
            "Type",
            "The resources of a type that match, as a Bundle; the CapabilityStatement names the search parameters",
        ),
        (
            "/Patient/{id}/{type}",
            "Compartment",
            "The same of what is in a Patient's compartment",
        ),
        (
            "",
            "System",
            "The same over the types that _type names, all types without it",
        ),
    ] {
        let (get, post) = search(place, id, summary);
        paths.insert(format!("/fhir{place}"), get);
        paths.insert(format!("/fhir{place}/_search"), post);
    }
    for (path, id, view) in [
        ("/fhir/ViewDefinition/$run", "run", "viewResource"),
        (
            "/fhir/ViewDefinition/$viewdefinition-run",
            "viewDefinitionRun",
            "viewResource",
        ),
        ("/fhir/$viewdefinition-run", "systemViewDefinitionRun", "viewResource"),
        ("/fhir/$sql-run", "sqlRun", "subjectResource"),
    ] {
        paths.insert(path.to_owned(), run(id, view));
    }
    let validate = json!({"post": {
        "operationId": "validate",
        "summary": "Everything that is to be said about a ViewDefinition, as an OperationOutcome, and the columns it gives",
        "parameters": [in_query("columns", json!({"type": "boolean", "default": false,
            "description": "whether the answer is a Parameters resource with the columns for programs to read"}))],
        "requestBody": body("A ViewDefinition, or a Parameters resource with it as the parameter resource"),
        "responses": answered(&[FHIR]),
    }});
    paths.insert("/fhir/ViewDefinition/$validate".to_owned(), validate);
    paths.values_mut().for_each(add_head);
    Value::Object(paths)
}

/// Wherever there is a GET there is a HEAD.
fn add_head(path: &mut Value) {
    let Some(mut head) = path.get("get").cloned() else {
        return;
    };
    let id = head["operationId"].as_str().unwrap_or_default();
    head["operationId"] = json!(format!("{id}Head"));
    head["summary"] = json!("The head of what GET answers");
    path["head"] = head;
}

/// The answer of a read, with what tells its version, and the answer to a client that has it.
fn versioned(mut responses: Value) -> Value {
    let header = |description: &str| json!({"description": description, "schema": {"type": "string"}});
    let headers = json!({
        "ETag": header("the version, as a weak tag: that of every content coding"),
        "Last-Modified": header("when the version was stored"),
    });
    responses["200"]["headers"] = headers.clone();
    responses["304"] = json!({"description": "The client has this version", "headers": headers});
    responses
}

/// A search by GET and by POST.
fn search(place: &str, id: &str, summary: &str) -> (Value, Value) {
    let named = ["id", "type"]
        .into_iter()
        .filter(|name| place.contains(&format!("{{{name}}}")));
    let path: Vec<Value> = named.map(in_path).collect();
    let mut parameters = path.clone();
    parameters.push(in_query("_count", json!({"type": "integer"})));
    parameters.push(in_query("_sort", json!({"type": "string"})));
    if place.is_empty() {
        parameters.push(in_query("_type", json!({"type": "string"})));
    }
    let wishes = [
        in_header(
            "Prefer",
            "handling=strict refuses unknown parameters, handling=lenient leaves them out",
        ),
        in_header(
            "X-Explain",
            "true or json: the answer says how it came about, to application tokens on a server that allows it",
        ),
    ];
    parameters.extend(wishes.clone());
    let path: Vec<Value> = path.into_iter().chain(wishes).collect();
    let get = json!({"get": {
        "operationId": format!("search{id}"), "summary": summary,
        "parameters": parameters, "responses": answered(&[FHIR]),
    }});
    let post = json!({"post": {
        "operationId": format!("search{id}ByPost"), "summary": "The same with the parameters in a form",
        "parameters": path,
        "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}},
        "responses": answered(&[FHIR]),
    }});
    (get, post)
}

/// `$run`, whose parameters may stand in the query or in the body.
fn run(id: &str, view: &str) -> Value {
    let references =
        |of: &str| json!({"type": "array", "items": {"type": "string"}, "description": format!("{of}/id")});
    let whole = |least: usize| json!({"type": "integer", "minimum": least});
    json!({"post": {
        "operationId": id,
        "summary": "The rows of a view",
        "parameters": [
            in_query("patient", references("Patient")),
            in_query("group", references("Group")),
            in_query("_format", json!({"type": "string", "enum": ["json", "csv", "ndjson", "parquet"]})),
            in_query("_limit", whole(1)),
            in_query("_since", json!({"type": "string", "format": "date-time"})),
            in_query("header", json!({"type": "boolean", "default": true})),
            in_query("_count", whole(1)),
            in_query("_offset", whole(0)),
        ],
        "requestBody": body(&format!(
            "A Parameters resource: {view} is the ViewDefinition; resource, repeated, brings resources to run over; the \
             parameters of the query may stand here instead"
        )),
        "responses": answered(&[
            "application/json",
            "text/csv",
            "application/x-ndjson",
            "application/vnd.apache.parquet",
        ]),
    }})
}

fn body(description: &str) -> Value {
    json!({"required": true, "description": description, "content": {FHIR: {"schema": {"type": "object"}}}})
}

fn answered(media: &[&str]) -> Value {
    let content: Map<String, Value> = media.iter().map(|media| ((*media).to_owned(), json!({}))).collect();
    json!({
        "200": {"description": "The answer", "content": content},
        "default": {"$ref": "#/components/responses/refused"},
    })
}

fn in_path(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
}

fn in_header(name: &str, description: &str) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": {"type": "string"}})
}

fn in_query(name: &str, schema: Value) -> Value {
    json!({"name": name, "in": "query", "schema": schema})
}
