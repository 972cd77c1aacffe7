//! Shows the OpenAPI document as a web page: groups of operations, and for each operation its input, its responses,
//! and a sample call.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use serde_json::Value;

use super::examples::{Example, Proof, value_of};
use super::json::{members, strings, text};
use super::page::{SCRIPT, STYLE, page};
use crate::http::error::Error;
use crate::http::fhir::negotiate::parameter;
use crate::http::routes::{Document, Operation, Route, resolved, schema};
use crate::http::service::Service;

const HTML: &str = "text/html";
/// The name of a service without a brand.
const NAME: &str = "Tabularium";
/// The methods in the order of the page. HEAD is left out, because it is GET without a body.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

#[derive(Template)]
#[template(path = "home/index.html")]
struct Home<'a> {
    style: &'static str,
    /// The name of the service: the operator's, or its own.
    name: &'a str,
    /// The URL where patients get help from the operator.
    help: Option<&'a str>,
    version: &'static str,
    base_url: &'a str,
}

#[derive(Template)]
#[template(path = "home/docs.html")]
struct Docs<'a> {
    style: &'static str,
    script: &'static str,
    /// The user's search text.
    query: &'a str,
    /// The name of the service: the operator's, or its own.
    title: &'a str,
    version: &'a str,
    base_url: &'a str,
    families: Vec<Family<'a>>,
    refusals: Vec<(&'a str, &'a str, String)>,
}

struct Family<'a> {
    /// The HTML id of the group, to which links on the page point.
    id: String,
    name: &'a str,
    about: &'a str,
    operations: Vec<Shown<'a>>,
}

/// An operation as the page shows it.
struct Shown<'a> {
    id: &'a str,
    method: String,
    path: &'a str,
    summary: &'a str,
    credential: &'static str,
    proof: &'static str,
    example: Example,
    parameters: Vec<Parameter<'a>>,
    body: Option<Body<'a>>,
    answers: Vec<Answer<'a>>,
}

struct Parameter<'a> {
    name: &'a str,
    place: &'a str,
    required: bool,
    schema_type: String,
    about: &'a str,
    /// The initial value of the parameter's field in the page's form. Empty for optional parameters.
    value: String,
}

struct Body<'a> {
    about: &'a str,
    media: Vec<&'a str>,
    members: Vec<Member<'a>>,
}

/// A member of a body that is a JSON object.
struct Member<'a> {
    name: &'a str,
    required: bool,
    schema_type: String,
    about: &'a str,
}

struct Answer<'a> {
    status: &'a str,
    about: &'a str,
    media: Vec<&'a str>,
}

/// Returns the routes of `/` and `/docs`.
pub(in crate::http) fn routes() -> Vec<Route> {
    let described = |id, summary| {
        let operation = Operation::new(id, summary).open();
        operation.answers(&[HTML], &schema("string", "a page"))
    };
    vec![
        Route::at("/").get(home, described("home", "What this is, for people")),
        Route::at("/docs").get(
            docs,
            described("docs", "These routes, for people").query("q", schema("string", "words of what is looked for")),
        ),
    ]
}

async fn home(State(service): State<Arc<Service>>) -> Result<Response, Error> {
    page(&Home {
        style: STYLE,
        name: service.pages.branding.name_or(NAME),
        help: service.pages.branding.support(),
        version: env!("CARGO_PKG_VERSION"),
        base_url: &service.base_url,
    })
}

async fn docs(
    State(service): State<Arc<Service>>,
    Extension(document): Extension<Arc<Document>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = parameter(query.as_deref(), "q").unwrap_or_default();
    let document = document.value(&service.base_url);
    let name = service.pages.branding.name_or(text(&document["info"]["title"]));
    page(&Docs::of(document, query.trim(), name))
}

impl<'a> Docs<'a> {
    fn of(document: &'a Value, query: &'a str, title: &'a str) -> Docs<'a> {
        let sought = query.to_lowercase();
        let sought: Vec<&str> = sought.split_whitespace().collect();
        let families = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
        let responses = members(&document["components"]["responses"]);
        Docs {
            style: STYLE,
            script: SCRIPT,
            query,
            title,
            version: text(&document["info"]["version"]),
            base_url: text(&document["servers"][0]["url"]),
            families: families
                .iter()
                .map(|family| Family::of(family, document, &sought))
                .filter(|family| !family.operations.is_empty())
                .collect(),
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
    /// Returns a group with the operations that match all words of the search (`sought`).
    fn of(family: &'a Value, document: &'a Value, sought: &[&str]) -> Family<'a> {
        let name = text(&family["name"]);
        let operations = members(&document["paths"]).flat_map(|(path, methods)| {
            METHODS
                .into_iter()
                .filter_map(move |method| Some((path, method, methods.get(method)?)))
        });
        let own = operations.filter(|(_, _, operation)| operation["tags"][0] == name);
        Family {
            id: format!("family-{}", name.to_lowercase().replace(' ', "-")),
            name,
            about: text(&family["description"]),
            operations: own
                .map(|(path, method, operation)| Shown::of(document, path, method, operation))
                .filter(|shown| shown.has(name, sought))
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
        // The page has the refusals of all operations once, at its end.
        let answers = members(&operation["responses"])
            .filter(|(status, response)| *status == "default" || response.get("$ref").is_none());
        let answers = answers.map(|(status, response)| Answer {
            status,
            about: text(&resolved(document, response)["description"]),
            media: members(&response["content"]).map(|(media, _)| media).collect(),
        });
        let (credential, proof) = credential(&operation["security"]);
        Shown {
            id: text(&operation["operationId"]),
            method: method.to_ascii_uppercase(),
            path,
            summary: text(&operation["summary"]),
            credential,
            proof: match proof {
                Proof::Nothing => "",
                Proof::Token => "Bearer",
                Proof::Keys => "Basic",
            },
            example: Example::of(document, path, method, operation, proof),
            parameters: parameters.iter().map(|one| Parameter::of(path, one)).collect(),
            body: operation.get("requestBody").map(|body| Body::of(document, body)),
            answers: answers.collect(),
        }
    }
}

impl Shown<'_> {
    /// Whether all words occur in the operation's id, method, path, summary, parameter names, or group name.
    fn has(&self, family: &str, sought: &[&str]) -> bool {
        let names = self.parameters.iter().map(|parameter| parameter.name);
        let shown: Vec<&str> = [self.id, self.method.as_str(), self.path, self.summary, family]
            .into_iter()
            .chain(names)
            .collect();
        let shown = shown.join(" ").to_lowercase();
        sought.iter().all(|word| shown.contains(word))
    }
}

impl<'a> Parameter<'a> {
    fn of(path: &str, parameter: &'a Value) -> Parameter<'a> {
        let schema = &parameter["schema"];
        let about = [&parameter["description"], &schema["description"]];
        Parameter {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            schema_type: type_of(schema),
            about: about
                .into_iter()
                .map(text)
                .find(|text| !text.is_empty())
                .unwrap_or_default(),
            // At first, the form that tries the call has values for required parameters only.
            value: if parameter["required"] == true {
                value_of(path, parameter)
            } else {
                String::new()
            },
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
            schema_type: type_of(schema),
            about: text(&schema["description"]),
        };
        Body {
            about: text(&body["description"]),
            media: members(&body["content"]).map(|(media, _)| media).collect(),
            members: members(&schema["properties"]).map(member).collect(),
        }
    }
}

/// Returns the credential that a caller needs, as text and for the sample call. An operation without `security` needs
/// an access token. An operation with an empty `security` needs no credential.
fn credential(security: &Value) -> (&'static str, Proof) {
    match security.as_array().map(Vec::as_slice) {
        None => ("access token", Proof::Token),
        Some([]) => ("none", Proof::Nothing),
        Some([only]) if only.get("registration").is_some() => ("registration access token", Proof::Token),
        Some([first, ..]) if first.get("oauth2").is_some() => ("access token, or a signed address", Proof::Token),
        Some([_]) => ("key pair (Basic)", Proof::Keys),
        Some(_) => ("key pair (Basic or in the body), or client_id alone", Proof::Keys),
    }
}

/// Describes the type of a schema in a few words.
fn type_of(schema: &Value) -> String {
    let values: Vec<&str> = strings(&schema["enum"]).collect();
    if !values.is_empty() {
        return values.join(" | ");
    }
    if let Some((_, name)) = text(&schema["$ref"]).rsplit_once('/') {
        return name.to_owned();
    }
    match (text(&schema["type"]), text(&schema["format"])) {
        ("array", _) => format!("list of {}", type_of(&schema["items"])),
        (schema_type, "") => schema_type.to_owned(),
        (_, format) => format.to_owned(),
    }
}
