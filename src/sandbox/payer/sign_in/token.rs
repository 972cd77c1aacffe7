//! The token endpoint. It accepts authorization codes and refresh tokens. At a facility it accepts assertions and
//! client credentials instead, because nobody logs in there.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::answer::{json, oauth};
use super::super::office::knobs::{SecretBy, strikes};
use super::super::office::organization::{CLIENT_ID, CLIENT_SECRET, Kind};
use super::super::office::state::Office;
use super::super::office::world::World;
use super::super::params::Params;
use super::grants::{Consent, Refused};
use super::identity::{fhir_user, id_token, subject};
use super::scopes::Granted;

/// The grant type of RFC 7523: a JWT, the assertion, identifies the person.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The parameters that must not be repeated.
const SINGLE: &[&str] = &[
    "grant_type",
    "code",
    "redirect_uri",
    "code_verifier",
    "client_id",
    "client_secret",
    "refresh_token",
    "assertion",
    "patient",
];

/// An error of RFC 6749: status, code and description.
#[derive(Debug)]
struct Error(StatusCode, &'static str, String);

impl Error {
    fn of(error: &'static str, description: impl std::fmt::Display) -> Error {
        Error(StatusCode::BAD_REQUEST, error, description.to_string())
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        Error::of("invalid_grant", refused)
    }
}

/// Answers a token request.
pub(in crate::sandbox::payer) async fn token(
    State(world): State<Arc<World>>,
    Path(organization): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(office) = world.office(&organization) else {
        return oauth(
            StatusCode::NOT_FOUND,
            "invalid_request",
            "there is no such organization",
        );
    };
    strikes(&office.counts.token, 0);
    let knobs = office.knobs();
    tokio::time::sleep(knobs.delay()).await;
    if knobs.fail_token {
        return oauth(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "out of order");
    }
    if knobs.token_page != 0 {
        let status = StatusCode::from_u16(knobs.token_page).unwrap_or(StatusCode::FORBIDDEN);
        let text = "<!DOCTYPE html><title>Blocked</title><p>This request was blocked.";
        return super::super::answer::body(status, "text/html; charset=utf-8", text);
    }
    match answered(&world, office, &headers, &body) {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(Error(status, error, description)) => oauth(status, error, description),
    }
}

fn answered(world: &World, office: &Office, headers: &HeaderMap, body: &[u8]) -> Result<Value, Error> {
    let form = headers
        .get(CONTENT_TYPE)
        .and_then(|content_type| content_type.to_str().ok())
        .unwrap_or_default();
    if !form.starts_with("application/x-www-form-urlencoded") {
        return Err(Error::of(
            "invalid_request",
            "the body must be application/x-www-form-urlencoded",
        ));
    }
    let params = Params::parse(body);
    params
        .single(SINGLE)
        .map_err(|error| Error::of("invalid_request", error))?;
    let proven = client(office, headers, &params)?;
    let facility = office.organization.kind == Kind::Facility;
    let consent = match params.text("grant_type") {
        "authorization_code" if !facility => office.grants().redeem(
            params.text("code"),
            CLIENT_ID,
            params.text("redirect_uri"),
            params.text("code_verifier"),
        )?,
        "refresh_token" if !facility => {
            if office.knobs().refuse_refresh || !office.refreshable() {
                return Err(Refused::Refresh.into());
            }
            office.grants().refreshed(params.text("refresh_token"), CLIENT_ID)?
        }
        JWT_BEARER if facility => {
            let person = subject(world, params.text("assertion")).ok_or_else(|| {
                Error::of(
                    "invalid_grant",
                    "the assertion is no good id_token of the identity provider",
                )
            })?;
            at_facility(world, office, Some(person))?
        }
        "client_credentials" if facility => {
            if !proven {
                return Err(unknown_client("this grant needs the client's secret"));
            }
            at_facility(world, office, world.people.by_patient(params.text("patient")))?
        }
        "" => return Err(Error::of("invalid_request", "grant_type is missing")),
        _ => {
            return Err(Error::of(
                "unsupported_grant_type",
                "there is no such grant at this organization",
            ));
        }
    };
    Ok(response(world, office, consent))
}

fn response(world: &World, office: &Office, consent: Consent) -> Value {
    let seconds = office.knobs().token_seconds;
    let mut answer = json!({
        "token_type": "Bearer",
        "expires_in": seconds,
        "scope": consent.granted.text,
    });
    if let Some(person) = world.people.person(consent.person) {
        if office.organization.kind == Kind::Identity {
            answer["id_token"] = id_token(world, &person, &consent).into();
        } else {
            let knobs = office.knobs();
            if knobs.fhir_user {
                let base = world.fhir_base(office);
                answer["id_token"] = fhir_user(world, &base, &person.patient, &consent).into();
            }
            if !knobs.no_patient {
                answer["patient"] = person.patient.into();
            }
        }
    }
    let mut grants = office.grants();
    answer["access_token"] = grants.access(consent.clone(), seconds).into();
    if consent.granted.offline && !office.knobs().no_refresh_token {
        answer["refresh_token"] = grants.refresh(consent).into();
    }
    answer
}

/// Grants access to a person's records at a facility without a login. Fails if the person has no records there.
fn at_facility(world: &World, office: &Office, person: Option<u64>) -> Result<Consent, Error> {
    let person = person.and_then(|index| world.people.person(index));
    let known = person.filter(|person| {
        let number = office.organization.facility();
        number.is_some_and(|number| number < person.facilities()) && !office.knobs().no_records
    });
    let person = known.ok_or_else(|| Error::of("invalid_grant", "nobody of this facility matches"))?;
    Ok(Consent {
        client: CLIENT_ID.to_owned(),
        person: person.index,
        granted: Granted::whole(office.organization),
        nonce: None,
    })
}

/// Checks the client's id and secret. Returns whether the client sent a secret, which is then correct.
fn client(office: &Office, headers: &HeaderMap, params: &Params) -> Result<bool, Error> {
    let knobs = office.knobs();
    let basic = match headers.get(AUTHORIZATION) {
        None => None,
        Some(_) if knobs.secret_by == SecretBy::Body => {
            return Err(unknown_client("the client has to name itself in the body"));
        }
        Some(value) => Some(
            value
                .to_str()
                .ok()
                .and_then(|header| pair(header, knobs.secret_by == SecretBy::Any))
                .ok_or_else(|| unknown_client("the Authorization header is not Basic with client_id and secret"))?,
        ),
    };
    if basic.is_some() && params.get("client_secret").is_some() {
        return Err(Error::of(
            "invalid_request",
            "the client's secret came twice, in the header and in the body",
        ));
    }
    let (id, secret) = match &basic {
        Some((id, secret)) => (id.as_str(), Some(secret.as_str())),
        None => (params.text("client_id"), params.get("client_secret")),
    };
    let differs = params.get("client_id").is_some_and(|other| other != id);
    // An assertion identifies the person. So a client that sends an assertion may omit its id.
    let bearer = params.text("grant_type") == JWT_BEARER && id.is_empty() && secret.is_none();
    if (id != CLIENT_ID && !bearer) || differs {
        return Err(unknown_client("the client is unknown"));
    }
    let wanted = match knobs.secret.as_str() {
        "" => CLIENT_SECRET,
        secret => secret,
    };
    match secret {
        Some(_) if basic.is_none() && knobs.secret_by == SecretBy::Plain => {
            Err(unknown_client("the client has to name itself in the header"))
        }
        Some(secret) if secret == wanted => Ok(true),
        Some(_) => Err(unknown_client("the client's secret is wrong")),
        None if office.organization.secret.is_some() && office.organization.kind != Kind::Facility => {
            Err(unknown_client("the client has to send its secret"))
        }
        None => Ok(false),
    }
}

fn unknown_client(description: &str) -> Error {
    Error(StatusCode::UNAUTHORIZED, "invalid_client", description.to_owned())
}

/// Returns the client id and the secret from a Basic `Authorization` header. If `decode` is true, both are
/// form-decoded, as RFC 6749 requires. `None` if the header has another form.
fn pair(header: &str, decode: bool) -> Option<(String, String)> {
    let (scheme, rest) = header.split_once(' ')?;
    let decoded = STANDARD
        .decode(rest.trim())
        .ok()
        .filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    let decoded = String::from_utf8(decoded).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    if !decode {
        return Some((id.to_owned(), secret.to_owned()));
    }
    // `Params::parse` decodes form encoding, in which a plus is a space.
    let plain = |text: &str| Params::parse(format!("x={text}").as_bytes()).text("x").to_owned();
    Some((plain(id), plain(secret)))
}
