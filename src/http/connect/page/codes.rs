//! The pages about error codes, to which `error_uri` leads. Each page explains a code to the patient and to the
//! application's developer.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::super::language;
use super::super::language::Texts;
use super::answer::{Policy, page};
use super::view::{ErrorCode, Errors, Shell, Switch};
use crate::http::service::Service;

/// Answers `GET /errors` with the list of error codes.
pub(in crate::http::connect) async fn index(
    State(service): State<Arc<Service>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let t = language::of(&service, &headers);
    let address = format!("{}/errors", service.base_path());
    language::switched(&service, query.as_deref(), &address, false)
        .unwrap_or_else(|| error_page(&service, t, StatusCode::OK, t.errors_title, None, address))
}

/// Answers `GET /errors/{code}` with the page about an error code.
pub(in crate::http::connect) async fn one(
    State(service): State<Arc<Service>>,
    Path(code): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let t = language::of(&service, &headers);
    let known = all(t);
    let known = known.iter().find(|known| known.code == code);
    let index = format!("{}/errors", service.base_path());
    let address = known.map_or(index.clone(), |known| format!("{index}/{}", known.code));
    if let Some(response) = language::switched(&service, query.as_deref(), &address, false) {
        return response;
    }
    match known {
        Some(known) => error_page(&service, t, StatusCode::OK, known.title, Some(known), address),
        None => error_page(
            &service,
            t,
            StatusCode::NOT_FOUND,
            t.errors_unknown_title,
            None,
            address,
        ),
    }
}

fn error_page(
    service: &Service,
    t: &'static Texts,
    status: StatusCode,
    title: &str,
    one: Option<&ErrorCode>,
    address: String,
) -> Response {
    let s = Shell {
        languages: Some(Switch {
            address,
            all: service.pages.languages.all(),
        }),
        ..Shell::outside(service, t, title)
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
