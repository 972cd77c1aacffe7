//! The OpenAPI document as a page: its families, their operations, and of each what it takes and answers.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value};

use super::page::{STYLE, page};
use crate::http::error::Error;
use crate::http::routes::{Operation, Route, resolved, schema};
use crate::http::service::Service;

const HTML: &str = "text/html";
/// In display order. HEAD is GET without a body.
const METHODS: [&str; 3] = ["get", "post", "delete"];

#[derive(Template)]
#[template(path = "home/index.html")]
struct Home<'a> {
    style: &'static str,
    version: &'static str,
    base_url: &'a str,
}

#[derive(Template)]
#[template(path = "home/docs.html")]
struct Docs<'a> {
    style: &'static str,
    title: &'a str,
    version: &'a str,
    base_url: &'a str,
    families: Vec<Family<'a>>,
    refusals: Vec<(&'a str, &'a str, String)>,
}

struct Family<'a> {
    name: &'a str,
    about: &'a str,
    operations: Vec<Shown<'a>>,
}

/// An operation.
struct Shown<'a> {
    id: &'a str,
    method: String,
    path: &'a str,
    summary: &'a str,
    credential: &'static str,
    parameters: Vec<Parameter<'a>>,
    body: Option<Body<'a>>,
    answers: Vec<Answer<'a>>,
}

struct Parameter<'a> {
    name: &'a str,
    place: &'a str,
    required: bool,
    ty: String,
    about: &'a str,
}

struct Body<'a> {
    about: &'a str,
    media: Vec<&'a str>,
    members: Vec<Member<'a>>,
}

/// A member of a body that is an object.
struct Member<'a> {
    name: &'a str,
    required: bool,
    ty: String,
    about: &'a str,
}

struct Answer<'a> {
    status: &'a str,
    about: &'a str,
    media: Vec<&'a str>,
}

/// The routes of the pages.
pub(in crate::http) fn routes() -> Vec<Route> {
    let described = |id, summary| {
        let operation = Operation::new(id, summary).open();
        operation.answers(&[HTML], &schema("string", "a page"))
    };
    vec![
        Route::at("/").get(home, described("home", "What this is, for people")),
        Route::at("/docs").get(docs, described("docs", "These routes, for people")),
    ]
}

async fn home(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    page(&Home {
        style: STYLE,
        version: env!("CARGO_PKG_VERSION"),
        base_url: &service.base_url,
    })
}

async fn docs(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    page(&Docs::of(service.document.value(&service.base_url)))
}

impl Docs<'_> {
    fn of(document: &Value) -> Docs<'_> {
        let families = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        let responses = members(&document["components"]["responses"]);
        Docs {
            style: STYLE,
            title: text(&document["info"]["title"]),
            version: text(&document["info"]["version"]),
            base_url: text(&document["servers"][0]["url"]),
            families: families.iter().map(|family| Family::of(family, document)).collect(),
            refusals: responses
                .map(|(name, response)| refusal(document, name, response))
                .collect(),
        }
    }
}

fn refusal<'a>(document: &'a Value, name: &'a str, response: &'a Value) -> (&'a str, &'a str, String) {
    let (media, content) = members(&response["content"]).next().unwrap_or(("", &Value::Null));
    let names: Vec<&str> = strings(&resolved(document, &content["schema"])["required"]).collect();
    (
        name,
        text(&response["description"]),
        format!("{media}: {}", names.join(", ")),
    )
}

impl<'a> Family<'a> {
    fn of(family: &'a Value, document: &'a Value) -> Family<'a> {
        let name = text(&family["name"]);
        let operations = members(&document["paths"]).flat_map(|(path, methods)| {
            METHODS
                .into_iter()
                .filter_map(move |method| Some((path, method, methods.get(method)?)))
        });
        let own = operations.filter(|(_, _, operation)| operation["tags"][0] == name);
        Family {
            name,
            about: text(&family["description"]),
            operations: own
                .map(|(path, method, operation)| Shown::of(document, path, method, operation))
                .collect(),
        }
    }
}

impl<'a> Shown<'a> {
    fn of(document: &'a Value, path: &'a str, method: &str, operation: &'a Value) -> Shown<'a> {
        let parameters = operation["parameters"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let answers = members(&operation["responses"]).map(|(status, response)| Answer {
            status,
            about: match response["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
                Some("outcome") => "Why not, as an OperationOutcome",
                Some("oauth") => "Why not, as OAuth says it",
                Some(_) => "Why not, in a sentence",
                None => text(&response["description"]),
            },
            media: members(&response["content"]).map(|(media, _)| media).collect(),
        });
        Shown {
            id: text(&operation["operationId"]),
            method: method.to_ascii_uppercase(),
            path,
            summary: text(&operation["summary"]),
            credential: credential(&operation["security"]),
            parameters: parameters.iter().map(Parameter::of).collect(),
            body: operation.get("requestBody").map(|body| Body::of(document, body)),
            answers: answers.collect(),
        }
    }
}

impl Parameter<'_> {
    fn of(parameter: &Value) -> Parameter<'_> {
        let schema = &parameter["schema"];
        let about = [&parameter["description"], &schema["description"]];
        Parameter {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            ty: ty(schema),
            about: about
                .into_iter()
                .map(text)
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
        }
    }
}

impl<'a> Body<'a> {
    fn of(document: &'a Value, body: &'a Value) -> Body<'a> {
        let schema = members(&body["content"])
            .next()
            .map_or(&Value::Null, |(_, content)| resolved(document, &content["schema"]));
        let required: Vec<&str> = strings(&schema["required"]).collect();
        let member = |(name, schema)| Member {
            name,
            required: required.contains(&name),
            ty: ty(schema),
            about: text(&schema["description"]),
        };
        Body {
            about: text(&body["description"]),
            media: members(&body["content"]).map(|(media, _)| media).collect(),
            members: members(&schema["properties"]).map(member).collect(),
        }
    }
}

/// The credentials that an operation requires, by its own requirement or the document's.
fn credential(security: &Value) -> &'static str {
    match security.as_array().map(Vec::as_slice) {
        None => "access token",
        Some([]) => "none",
        Some([_]) => "key pair (Basic)",
        Some(_) => "key pair (Basic or in the body), or client_id alone",
    }
}

/// A type in a word or two.
fn ty(schema: &Value) -> String {
    let values: Vec<&str> = strings(&schema["enum"]).collect();
    if !values.is_empty() {
        return values.join(" | ");
    }
    if let Some((_, name)) = text(&schema["$ref"]).rsplit_once('/') {
        return name.to_owned();
    }
    match (text(&schema["type"]), text(&schema["format"])) {
        ("array", _) => format!("list of {}", ty(&schema["items"])),
        (ty, "") => ty.to_owned(),
        (_, format) => format.to_owned(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members: Option<&Map<String, Value>> = value.as_object();
    members
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}
