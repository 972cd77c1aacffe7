//! `POST /apply`: a developer requests access to the service. The request is checked and stored for the operator.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use url::Url;

use crate::fhir::hidden::is_hidden;
use crate::http::body;
use crate::http::error::Error;
use crate::http::limits::Limits;
use crate::http::routes::{Operation, Route, named, object};
use crate::http::service::Service;

const JSON: &str = "application/json";
const REQUIRED: [&str; 5] = ["name", "email", "why", "location", "resume"];
const OPTIONAL: [&str; 5] = ["phone", "github", "linkedin", "website", "twitter"];
/// The fields with a URL.
const LINKS: [&str; 2] = ["resume", "website"];
/// The maximum number of characters of a field other than `why`. In `why` people may write a letter.
const LONGEST: usize = 500;
const LONGEST_WHY: usize = 10_000;
/// The maximum bytes of a request for access. No valid request is longer.
const LONGEST_BODY: usize = 256 * 1_024;

pub(super) fn routes() -> Vec<Route> {
    let text = |name: &&str| ((*name).to_owned(), json!({"type": "string"}));
    let properties: Map<String, Value> = REQUIRED.iter().chain(&OPTIONAL).map(text).collect();
    let schema = named("AccessApplication", object(&REQUIRED, properties.into()));
    let answer = named(
        "ReceivedApplication",
        object(&["id"], json!({"id": {"type": "string"}})),
    );
    let operation = Operation::new("apply", "Apply for access")
        .open()
        .body(&[JSON], "Who applies, and why", &schema)
        .response(202, "It was taken down", &[JSON], &answer);
    vec![Route::at("/apply").post(apply, operation)]
}

async fn apply(State(service): State<Arc<Service>>, request: Request) -> Result<Response, Error> {
    let (parts, sent) = request.into_parts();
    let limits = Limits {
        body: service.limits.body.min(LONGEST_BODY),
        ..service.limits.clone()
    };
    let sent = body::read(&parts.headers, sent, &limits).await?;
    if !body::is_typed(&parts.headers, &[JSON]) {
        return Err(Error::MediaType(JSON));
    }
    let application = checked(&sent)?;
    service.throttle.charge_write(&parts.extensions)?;
    let keeping = tokio::task::spawn_blocking(move || service.store.applicants().keep(&application.to_string()));
    let id = keeping.await.map_err(Error::internal)?.map_err(Error::internal)?;
    let body = json!({"id": id}).to_string();
    Ok((StatusCode::ACCEPTED, [(CONTENT_TYPE, JSON)], body).into_response())
}

/// Checks a request for access. Returns its known fields, without empty optional ones.
fn checked(sent: &[u8]) -> Result<Value, Error> {
    let malformed = |problem: &str| Error::Invalid(problem.to_owned());
    let sent: Value = serde_json::from_slice(sent).map_err(|_| malformed("the body is no JSON"))?;
    let sent = sent
        .as_object()
        .ok_or_else(|| malformed("the body is no JSON object"))?;
    let mut kept = Map::new();
    for name in REQUIRED.iter().chain(&OPTIONAL) {
        let required = REQUIRED.contains(name);
        let value = match sent.get(*name) {
            None | Some(Value::Null) if !required => continue,
            None => return Err(Error::Invalid(format!("{name} is missing"))),
            // Others read this text, so it loses the characters that nobody sees. Control characters are refused below.
            Some(Value::String(text)) => text
                .chars()
                .filter(|c| c.is_control() || !is_hidden(*c))
                .collect::<String>(),
            Some(_) => return Err(Error::Invalid(format!("{name} is no string"))),
        };
        let value = value.trim();
        if value.is_empty() {
            if required {
                return Err(Error::Invalid(format!("{name} is empty")));
            }
            continue;
        }
        let value = check(name, value)?;
        kept.insert((*name).to_owned(), value.into());
    }
    Ok(kept.into())
}

/// Checks the value of a field. Returns the value to be stored.
fn check<'v>(name: &str, value: &'v str) -> Result<Cow<'v, str>, Error> {
    let longest = if name == "why" { LONGEST_WHY } else { LONGEST };
    if value.chars().count() > longest {
        return Err(Error::Invalid(format!("{name} is longer than {longest} letters")));
    }
    let breaks = |letter: char| letter.is_control() && !(name == "why" && matches!(letter, '\n' | '\r' | '\t'));
    if value.contains(breaks) {
        return Err(Error::Invalid(format!("{name} has control characters")));
    }
    if name == "email" && !is_address(value) {
        return Err(Error::Invalid("email is no email address".to_owned()));
    }
    if LINKS.contains(&name) {
        return link(value).ok_or_else(|| Error::Invalid(format!("{name} is no http or https link")));
    }
    Ok(Cow::Borrowed(value))
}

/// Whether the text has the form of an email address. Whether somebody reads mail to it is not known.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let part = |part: &str| {
        !part.is_empty() && !part.contains(|letter: char| letter.is_whitespace() || "<>(),;:\"@".contains(letter))
    };
    part(local) && part(domain) && domain.contains('.') && !domain.starts_with('.') && !domain.ends_with('.')
}

/// Returns the text as an `http` or `https` URL. A URL without a scheme, such as `example.org/me`, becomes `https`.
/// `None` if it is no such URL.
fn link(text: &str) -> Option<Cow<'_, str>> {
    let is_link =
        |text: &str| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    if is_link(text) {
        return Some(Cow::Borrowed(text));
    }
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let label =
        |label: &str| !label.is_empty() && label.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
    let named = name.contains('.') && name.split('.').all(label) && port.bytes().all(|byte| byte.is_ascii_digit());
    let whole = format!("https://{text}");
    (named && !text.contains(char::is_whitespace) && is_link(&whole)).then_some(Cow::Owned(whole))
}
