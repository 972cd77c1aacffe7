//! The error codes that `error_uri` names, each with a page for the patient and for whoever makes the application.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::answer::{Policy, page};
use super::texts::Texts;
use super::view::{ErrorCode, Errors, Shell};
use crate::http::service::Service;

/// `GET /errors`
pub(in crate::http::connect) async fn index(State(service): State<Arc<Service>>, headers: HeaderMap) -> Response {
    let t = Texts::of(&headers);
    shown(&service, t, StatusCode::OK, t.errors_title, None)
}

/// `GET /errors/{code}`
pub(in crate::http::connect) async fn one(
    State(service): State<Arc<Service>>,
    Path(code): Path<String>,
    headers: HeaderMap,
) -> Response {
    let t = Texts::of(&headers);
    match all(t).iter().find(|known| known.code == code) {
        Some(known) => shown(&service, t, StatusCode::OK, known.title, Some(known)),
        None => shown(&service, t, StatusCode::NOT_FOUND, t.errors_unknown_title, None),
    }
}

fn shown(service: &Service, t: &'static Texts, status: StatusCode, title: &str, one: Option<&ErrorCode>) -> Response {
    let s = Shell {
        t,
        base: service.base_path(),
        title: title.to_owned(),
        app: None,
        test: false,
        csrf: None,
        steps: Vec::new(),
        to_hub: false,
    };
    page(status, &Errors { s, one, all: &all(t) }, &Policy::default())
}

fn all(t: &'static Texts) -> [ErrorCode; 5] {
    let code = |code, title, patient, developer| ErrorCode {
        code,
        title,
        patient,
        developer,
    };
    [
        code(
            "access_denied",
            t.error_access_denied,
            t.error_access_denied_patient,
            t.error_access_denied_developer,
        ),
        code(
            "session_timeout",
            t.error_session_timeout,
            t.error_session_timeout_patient,
            t.error_session_timeout_developer,
        ),
        code(
            "abandoned",
            t.error_abandoned,
            t.error_abandoned_patient,
            t.error_abandoned_developer,
        ),
        code(
            "no_facilities",
            t.error_no_facilities,
            t.error_no_facilities_patient,
            t.error_no_facilities_developer,
        ),
        code(
            "server_error",
            t.error_server_error,
            t.error_server_error_patient,
            t.error_server_error_developer,
        ),
    ]
}
