//! `POST /rest/health-links`: creates a link. Only this response has its key: the server does not keep it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::jwe::{LinkKey, encrypted};
use super::manage::Shown;
use super::qr::Qr;
use super::request::Asked;
use super::shlink::{LONGEST_URL, shlink, url};
use crate::consent::{Access, LOCAL_APPLICATION, LinkContent, LinkRefusal, LinkTerms, NewHealthLink};
use crate::http::auth::present;
use crate::http::body;
use crate::http::error::Error;
use crate::http::fhir::patient::card::issue;
use crate::http::fhir::patient::summary_of;
use crate::http::message::Refused;
use crate::http::oauth::PatientToken;
use crate::http::service::Service;
use crate::http::shape::no_store;

const JSON: &str = "application/json";
/// The maximum bytes of a link's file before encryption.
const LARGEST_FILE: usize = 16 * 1_024 * 1_024;
/// The number of characters in the random part of a link's URL.
const ADDRESS: usize = 43;

pub(super) async fn create(
    State(service): State<Arc<Service>>,
    PatientToken(access): PatientToken,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, sent) = request.into_parts();
    let sent = body::read(&parts.headers, sent, &service.limits).await?;
    if !body::is_typed(&parts.headers, &[JSON]) {
        return Err(Error::MediaType(JSON).into());
    }
    let asked = Asked::read(&sent, service.store.clock().now())?;
    if url(&service.base_url, "").len() + ADDRESS > LONGEST_URL {
        let problem =
            format!("the service's own address is too long for links, whose URL has at most {LONGEST_URL} letters");
        return Err(Error::Processing(problem).into());
    }
    let access = present(access, &service).map_err(Error::without_sources)?;
    // Read the terms before the records. If the consent's sources or its end change after this, the store does not
    // create the link (`LinkRefusal::Changed`).
    let terms = service.store.health_links().terms(&access.subject)?;
    let terms = terms.ok_or_else(|| Error::Unknown("There is no such consent any more.".to_owned()))?;
    let file = file(&service, &access, asked.content).await?;
    let made = service
        .blocking(move |service| made(service, &access.subject, &terms, asked, &file))
        .await??;
    Ok(no_store(StatusCode::CREATED, &made)?)
}

/// Builds the link's file: the patient's summary, or all records as a health card.
async fn file(service: &Arc<Service>, access: &Arc<Access>, content: LinkContent) -> Result<Vec<u8>, Error> {
    let patients = access.patients().map(<[String]>::to_vec).unwrap_or_default();
    let file = match content {
        LinkContent::Summary => {
            if &*access.scope.application != LOCAL_APPLICATION {
                service.throttle.charge_record(&access.subject)?;
            }
            summary_of(service, access, patients).await?
        }
        LinkContent::Card => {
            let card = issue(service, access, patients).await?;
            json!({"verifiableCredential": [card]}).to_string().into_bytes()
        }
    };
    if file.len() > LARGEST_FILE {
        let problem = format!("the file of a link has at most {LARGEST_FILE} bytes, and this one would have more");
        return Err(Error::TooCostly(problem));
    }
    Ok(file)
}

fn made(service: &Service, consent: &str, terms: &LinkTerms, asked: Asked, file: &[u8]) -> Result<Value, Refused> {
    let key = LinkKey::random()?;
    let file = encrypted(&key, asked.content.media_type(), file)?;
    let new = NewHealthLink {
        consent,
        terms,
        content: asked.content,
        label: asked.label.as_deref(),
        passcode: asked.passcode.as_deref(),
        is_direct: asked.is_direct,
        expires_at: terms
            .until
            .map_or(asked.expires_at, |until| until.min(asked.expires_at)),
        file: &file,
    };
    let (link, address) = match service.store.health_links().create(&new)? {
        Ok(made) => made,
        Err(LinkRefusal::Changed) => return Err(Error::Busy.into()),
        Err(refusal @ LinkRefusal::TooMany) => return Err(Error::Processing(refusal.to_string()).into()),
    };
    let shlink = shlink(&url(&service.base_url, &address), &key, &link).map_err(Refused::internal)?;
    let viewer = format!("{}/health-link#{shlink}", service.base_url);
    let code = Qr::of(&viewer)?;
    let picture = |media: &str, bytes: &[u8]| format!("data:{media};base64,{}", STANDARD.encode(bytes));
    let mut answer = serde_json::to_value(Shown::of(&link)).map_err(Refused::internal)?;
    answer["link"] = shlink.into();
    answer["viewerUrl"] = viewer.into();
    answer["qr"] = json!({
        "png": picture("image/png", &code.png()?),
        "svg": picture("image/svg+xml", code.svg().as_bytes()),
    });
    Ok(answer)
}
