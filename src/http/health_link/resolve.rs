//! `POST /health-links/{address}` returns the manifest of a link. `GET` returns the file of a link with flag `U`.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answers::{jose, over};
use super::file::location;
use super::manage::time;
use crate::consent::{Guess, HealthLink, LinkFile};
use crate::fhir::hidden::shown;
use crate::http::body;
use crate::http::error::Error;
use crate::http::fhir::negotiate::parameter;
use crate::http::limits::Limits;
use crate::http::message::Refused;
use crate::http::service::Service;
use crate::http::shape::no_store;

const JSON: &str = "application/json";
/// The maximum number of characters of a recipient's name. A longer name is cut.
pub(super) const LONGEST_RECIPIENT: usize = 200;
/// The maximum bytes of the passcode in a request. No link has a longer one.
const LONGEST_PASSCODE: usize = 1_000;
/// The maximum bytes of a file that the manifest contains, if the request has no `embeddedLengthMax`. For a larger file
/// the manifest has a URL.
const EMBEDDED: usize = 1_024 * 1_024;
/// The maximum bytes of a manifest request. No valid request is longer.
const LONGEST_BODY: usize = 64 * 1_024;
/// The challenge that every response with status 401 must have (RFC 9110, section 15.5.2).
const CHALLENGE: HeaderValue = HeaderValue::from_static(r#"Passcode realm="health-link""#);

/// A request for a manifest.
struct Asked {
    recipient: String,
    passcode: Option<String>,
    longest_embedded: usize,
}

pub(super) async fn manifest(
    State(service): State<Arc<Service>>,
    Path(address): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, sent) = request.into_parts();
    service.throttle.charge_write(&parts.extensions)?;
    let limits = Limits {
        body: service.limits.body.min(LONGEST_BODY),
        ..service.limits.clone()
    };
    let sent = body::read(&parts.headers, sent, &limits).await?;
    if !body::is_typed(&parts.headers, &[JSON]) {
        return Err(Error::MediaType(JSON).into());
    }
    let asked = Asked::read(&sent)?;
    service
        .blocking(move |service| link_manifest(service, &address, &asked))
        .await?
}

pub(super) async fn direct(
    State(service): State<Arc<Service>>,
    Path(address): Path<String>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response, Refused> {
    service.throttle.charge_write(request.extensions())?;
    let asked = parameter(query.as_deref(), "recipient");
    // Programs that check links send HEAD. Such a request must not count as a use of the link, so it does not call
    // `visit`.
    let is_head = request.method() == Method::HEAD;
    let work = move |service: &Service| -> Result<Response, Refused> {
        let link = service.store.health_links().at(&address)?;
        if !link.is_some_and(|link| link.is_direct) {
            return Err(over());
        }
        let recipient = named(asked)?;
        let file = if is_head {
            service.store.health_links().file(&address)?
        } else {
            service.store.health_links().visit(&address, &recipient)?
        };
        Ok(jose(file.ok_or_else(over)?.jwe))
    };
    service.blocking(work).await?
}

fn link_manifest(service: &Service, address: &str, asked: &Asked) -> Result<Response, Refused> {
    let link = service.store.health_links().at(address)?.ok_or_else(over)?;
    if let Some(refused) = refused(service, &link, asked)? {
        return Ok(refused);
    }
    let LinkFile {
        content,
        created_at,
        jwe,
    } = service
        .store
        .health_links()
        .visit(address, &asked.recipient)?
        .ok_or_else(over)?;
    let mut entry = json!({
        "contentType": content.media_type(),
        "lastUpdated": time(created_at),
        "status": "finalized",
    });
    if let Some(version) = content.fhir_version() {
        entry["fhirVersion"] = version.into();
    }
    if jwe.len() <= asked.longest_embedded {
        entry["embedded"] = jwe.into();
    } else {
        entry["location"] = location(service, address, link.expires_at)?.into();
    }
    Ok(no_store(StatusCode::OK, &json!({"files": [entry]}))?)
}

/// Returns a response with status 401 if the link needs a passcode, and the request has none or a wrong one. A
/// missing passcode does not count as an attempt. `None` if the request may continue.
fn refused(service: &Service, link: &HealthLink, asked: &Asked) -> Result<Option<Response>, Refused> {
    if !link.has_passcode {
        return Ok(None);
    }
    let remaining = match asked.passcode.as_deref() {
        None => link.attempts,
        Some(passcode) => match service.store.health_links().guess(link, passcode)? {
            Guess::Right => return Ok(None),
            Guess::Wrong { remaining } => remaining,
            Guess::Busy => return Err(Error::Busy.into()),
            Guess::Over => return Err(over()),
        },
    };
    let mut response = no_store(StatusCode::UNAUTHORIZED, &json!({"remainingAttempts": remaining}))?;
    response.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
    Ok(Some(response))
}

impl Asked {
    fn read(sent: &[u8]) -> Result<Asked, Error> {
        let invalid = |problem: &str| Error::Invalid(problem.to_owned());
        let sent: Map<String, Value> =
            serde_json::from_slice(sent).map_err(|_| invalid("the body is no JSON object"))?;
        let text = |name: &str| match sent.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Error::Invalid(format!("{name} must be a string"))),
        };
        let passcode = text("passcode")?;
        if passcode
            .as_ref()
            .is_some_and(|passcode| passcode.len() > LONGEST_PASSCODE)
        {
            return Err(invalid("passcode is too long"));
        }
        let longest_embedded = match sent.get("embeddedLengthMax") {
            None | Some(Value::Null) => EMBEDDED,
            Some(value) => {
                let length = value
                    .as_u64()
                    .ok_or_else(|| invalid("embeddedLengthMax must be a whole number"))?;
                usize::try_from(length).unwrap_or(usize::MAX)
            }
        };
        Ok(Asked {
            recipient: named(text("recipient")?)?,
            passcode,
            longest_embedded,
        })
    }
}

/// Returns the recipient's name as one line without hidden characters, cut to its maximum length. An error if it is
/// absent or empty.
fn named(recipient: Option<String>) -> Result<String, Error> {
    let named = recipient.map(|text| shown(&text).split_whitespace().collect::<Vec<_>>().join(" "));
    let named = named.filter(|name| !name.is_empty());
    let named = named.ok_or_else(|| Error::Invalid("recipient must say who is asking".to_owned()))?;
    Ok(named.chars().take(LONGEST_RECIPIENT).collect())
}
