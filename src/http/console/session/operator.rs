//! The operator of a request, as an extractor. A handler with this extractor runs only for browsers with a session.

use std::sync::Arc;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::super::shown::page::{self, Frame, html, see_other};
use super::super::shown::tenant::Tenant;
use super::{cookie, next};
use crate::consent::{ConsoleLook, ConsoleSession};
use crate::http::csrf::Csrf;
use crate::http::error::Error;
use crate::http::service::Service;

/// The header in which a browser says whether a request comes from the same site.
pub(super) const SITE: &str = "sec-fetch-site";
/// Creates and checks the CSRF tokens of the console's forms.
const FORMS: Csrf = Csrf("console form");

/// The operator who sent the request.
pub(in crate::http::console) struct Operator {
    pub(in crate::http::console) session: ConsoleSession,
    cookie: String,
}

impl FromRequestParts<Arc<Service>> for Operator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Operator, Response> {
        is_on(service).map_err(IntoResponse::into_response)?;
        match Operator::of(service, &parts.headers).await {
            Ok(Some(operator)) => Ok(operator),
            Ok(None) if parts.method == Method::GET => Err(led_on(service, parts)),
            Ok(None) => Err(page::problem(
                &Frame::outside(service),
                StatusCode::UNAUTHORIZED,
                "The session is over. Sign in again with a new token.",
            )),
            Err(error) => Err(error.into_response()),
        }
    }
}

#[derive(Template)]
#[template(path = "console/continue.html")]
struct Continue<'a> {
    frame: &'a Frame,
    next: &'a str,
}

/// Answers a GET without the session's cookie. Redirects to sign-in, which then leads to the requested page. But if the
/// request comes from another site's page, the browser may have a session and withhold the cookie. In this case, shows
/// a page with a link to the requested page. The browser sends the cookie when it follows this link.
fn led_on(service: &Service, parts: &Parts) -> Response {
    let next = next::of(service, &parts.uri);
    let is_foreign = parts.headers.get(SITE).is_some_and(|site| site == "cross-site");
    match &next {
        Some(next) if is_foreign => {
            let frame = &Frame::outside(service);
            html(StatusCode::OK, &Continue { frame, next })
        }
        next => see_other(&next::sign_in(service, next.as_deref())),
    }
}

/// Returns an error if the console is off, as if its paths did not exist.
pub(in crate::http::console) fn is_on(service: &Service) -> Result<(), Error> {
    if service.console {
        Ok(())
    } else {
        let nothing = "there is nothing here; the FHIR API is under /fhir";
        Err(Error::Unknown(nothing.to_owned()))
    }
}

impl Operator {
    /// Finds the operator by the cookie. `None` if the request has no valid session.
    pub(in crate::http::console) async fn of(
        service: &Arc<Service>,
        headers: &HeaderMap,
    ) -> Result<Option<Operator>, Error> {
        let Some(cookie) = cookie::read(service, headers) else {
            return Ok(None);
        };
        let looked_up = cookie.clone();
        let session = service.blocking(move |service| service.store.console_sessions().get(&looked_up));
        let session = session.await?.map_err(Error::internal)?;
        Ok(session.map(|session| Operator { session, cookie }))
    }

    /// Returns the data that all pages of the session share. `here` is the active entry of the menu.
    pub(in crate::http::console) fn frame(
        &self,
        service: &Service,
        here: &'static str,
        place: Option<&Tenant>,
    ) -> Frame {
        Frame {
            csrf: FORMS.token(&self.cookie).unwrap_or_default(),
            name: self.session.name.clone(),
            place: place.cloned().unwrap_or_default(),
            here,
            ..Frame::outside(service)
        }
    }

    /// Whether a CSRF token belongs to this session.
    pub(super) fn sent(&self, token: Option<&str>) -> bool {
        token.is_some_and(|token| FORMS.is_valid(&self.cookie, token))
    }

    /// Ends the session.
    pub(super) async fn leave(self, service: &Arc<Service>) -> Result<(), Error> {
        let ending = service.blocking(move |service| service.store.console_sessions().end(&self.cookie));
        ending.await?.map_err(Error::internal)
    }

    /// Writes an entry to the audit log: the operator looks at records. The caller must wait for this before it shows
    /// the records.
    pub(in crate::http::console) async fn looks(
        &self,
        service: &Arc<Service>,
        page: &'static str,
        place: &Tenant,
        (consent, detail): (Option<String>, String),
    ) -> Result<(), Error> {
        let (session, place) = (self.session.clone(), place.clone());
        let noting = service.blocking(move |service| {
            let look = ConsoleLook {
                page,
                mode: place.mode,
                application: &place.application,
                consent: consent.as_deref(),
                detail: &detail,
            };
            service.store.console_sessions().note_look(&session, &look)
        });
        noting.await?.map_err(Error::internal)
    }

    /// Writes an entry to the audit log: the operator looks at one patient's records. The entry has the patient's
    /// consent, if there is one, and a keyed hash of the Patient's id. Those who know the id can find the entry, but
    /// the entry does not reveal the id.
    pub(in crate::http::console) async fn looks_at(
        &self,
        service: &Arc<Service>,
        page: &'static str,
        place: &Tenant,
        patient: &str,
    ) -> Result<(), Error> {
        let (asked, id) = (place.clone(), patient.to_owned());
        let finding = service.blocking(move |service| {
            let consent = service
                .store
                .consents()
                .of_patient(&asked.application, asked.mode, &id)?;
            Ok::<_, crate::consent::Error>((consent, format!("person {}", mark(service, &asked, &id))))
        });
        let about = finding.await?.map_err(Error::internal)?;
        self.looks(service, page, place, about).await
    }
}

/// Returns the keyed hash by which the audit log identifies a patient.
pub(in crate::http::console) fn mark(service: &Service, place: &Tenant, patient: &str) -> String {
    let sealed = ("console", place.mode.schema(), &*place.application, patient);
    format!("{:016x}", service.lake.seal(&sealed))
}
