//! Finds a browser's session, and checks that forms come from its pages.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use super::super::super::language::{self, Texts};
use super::super::super::page::{ending, left, notice};
use super::super::parameters::Parameters;
use super::cookie;
use crate::consent::{Application, ApplicationProfile, Display, Flow, SessionKey};
use crate::http::body;
use crate::http::csrf::Csrf;
use crate::http::error::Error;
use crate::http::service::Service;

/// Creates and checks the CSRF tokens of the flow's forms.
pub(in crate::http::connect) const FORMS: Csrf = Csrf("csrf");

const FORM: &str = "application/x-www-form-urlencoded";

/// A request of a patient with an open session.
pub(in crate::http::connect) struct Visit {
    pub(in crate::http::connect) cookie: String,
    pub(in crate::http::connect) flow: Flow,
    pub(in crate::http::connect) application: Application,
    /// The application's profile, which the pages show.
    pub(in crate::http::connect) profile: ApplicationProfile,
    pub(in crate::http::connect) texts: &'static Texts,
}

impl Visit {
    pub(in crate::http::connect) fn key(&self) -> SessionKey {
        self.flow.key
    }

    /// Returns the origins whose pages may frame the session's pages.
    pub(in crate::http::connect) fn framed_by(&self) -> &[String] {
        if self.is_framed() {
            &self.application.origins
        } else {
            &[]
        }
    }

    /// Whether the session's pages are in a frame of another site's page.
    pub(in crate::http::connect) fn is_framed(&self) -> bool {
        self.flow.request.display == Display::Frame
    }
}

/// Runs work on the store on a thread that may block.
pub(in crate::http::connect) async fn stored<T: Send + 'static>(
    service: &Arc<Service>,
    work: impl FnOnce(&Service) -> T + Send + 'static,
) -> Result<T, Error> {
    let service = service.clone();
    tokio::task::spawn_blocking(move || work(&service))
        .await
        .map_err(Error::internal)
}

/// Returns the patient's open session. If there is none, returns the response to send as the error. If the session has
/// ended and its application does not know it yet, this response tells the application.
pub(in crate::http::connect) async fn visit(service: &Arc<Service>, headers: &HeaderMap) -> Result<Visit, Response> {
    let texts = language::of(service, headers);
    let Some(cookie) = cookie::read(service, headers, cookie::SESSION) else {
        return Err(left::answer(service, texts, headers).await);
    };
    let key = SessionKey::of(&cookie);
    let found = stored(service, move |service| {
        let Some(flow) = service.store.flows().visit(key)? else {
            return Ok(None);
        };
        let told = !flow.is_open() && service.store.flows().tell(key)?;
        let application = service.store.applications().get(&flow.consent.application)?;
        let profile = service.store.profiles().of_application(&flow.consent.application)?;
        Ok::<_, crate::consent::Error>(application.map(|application| (flow, application, profile, told)))
    });
    match found.await.and_then(|found| found.map_err(Error::internal)) {
        Ok(Some((flow, application, profile, _))) if flow.is_open() => Ok(Visit {
            cookie,
            flow,
            application,
            profile,
            texts,
        }),
        Ok(Some((flow, application, _, true))) => Err(ending::lapsed(service, texts, &flow, &application)),
        Ok(_) => Err(left::answer(service, texts, headers).await),
        Err(error) => Err(notice::broken(service, texts, error)),
    }
}

/// Returns the patient's open session, if there is one. Unlike `visit`, it does not tell the application that a session
/// has ended.
pub(in crate::http::connect) async fn present(service: &Arc<Service>, headers: &HeaderMap) -> Option<Visit> {
    let cookie = cookie::read(service, headers, cookie::SESSION)?;
    let key = SessionKey::of(&cookie);
    let found = stored(service, move |service| {
        let flow = service.store.flows().visit(key).ok()??;
        let application = service.store.applications().get(&flow.consent.application).ok()??;
        let profile = service.store.profiles().of_application(&application.id).ok()?;
        flow.is_open().then_some((flow, application, profile))
    });
    let (flow, application, profile) = found.await.ok()??;
    Some(Visit {
        cookie,
        flow,
        application,
        profile,
        texts: language::of(service, headers),
    })
}

/// Reads a form and its session. Refuses a form without a valid token of the session.
pub(in crate::http::connect) async fn form(
    service: &Arc<Service>,
    request: Request,
) -> Result<(Visit, Parameters), Response> {
    let (parts, body) = request.into_parts();
    let texts = language::of(service, &parts.headers);
    let parameters = fields(service, &parts.headers, body).await?;
    let visit = visit(service, &parts.headers).await?;
    let token = parameters.sole("csrf").unwrap_or_default();
    if FORMS.is_valid(&visit.cookie, token) {
        Ok((visit, parameters))
    } else {
        Err(notice::foreign(service, texts))
    }
}

/// Reads the fields of a form.
pub(in crate::http::connect) async fn fields(
    service: &Arc<Service>,
    headers: &HeaderMap,
    sent: Body,
) -> Result<Parameters, Response> {
    if !body::is_typed(headers, &[FORM]) {
        return Err(Error::MediaType(FORM).into_response());
    }
    let bytes = body::read(headers, sent, &service.limits).await;
    Ok(Parameters::parse(&bytes.map_err(IntoResponse::into_response)?))
}
