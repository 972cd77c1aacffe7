//! Pages that say something and ask nothing: where there is no session, and where a request cannot be carried out.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::page::{Policy, because, page};
use super::request::Untrusted;
use super::texts::Texts;
use super::view::{Notice, Shell};
use crate::http::error::Error;
use crate::http::service::Service;

/// There is no open session.
pub(super) fn over(service: &Arc<Service>, t: &'static Texts) -> Response {
    let (title, text) = (t.over_title, t.over_text);
    notice(service, t, StatusCode::GONE, title, vec![text], false, None, false)
}

/// A form of another session, or of no page of ours.
pub(super) fn foreign(service: &Arc<Service>, t: &'static Texts) -> Response {
    let (title, text) = (t.foreign_title, t.foreign_text);
    notice(service, t, StatusCode::FORBIDDEN, title, vec![text], true, None, true)
}

/// Somebody comes back from nowhere that they were sent to.
pub(super) fn stray(service: &Arc<Service>, t: &'static Texts) -> Response {
    let (title, text) = (t.callback_title, t.callback_text);
    notice(
        service,
        t,
        StatusCode::BAD_REQUEST,
        title,
        vec![text],
        true,
        None,
        false,
    )
}

/// The window beside a frame is done.
pub(super) fn window_done(service: &Arc<Service>, t: &'static Texts) -> Response {
    let (title, text) = (t.window_title, t.window_text);
    notice(service, t, StatusCode::OK, title, vec![text], false, None, false)
}

/// Something broke.
pub(super) fn broken(service: &Arc<Service>, t: &'static Texts, error: Error) -> Response {
    let (title, text) = (t.broken_title, t.broken_text);
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    because(notice(service, t, status, title, vec![text], true, None, false), error)
}

/// A request that nobody can be answered for by redirect.
pub(super) fn untrusted(service: &Arc<Service>, t: &'static Texts, why: Untrusted) -> Response {
    let (text, detail) = match why {
        Untrusted::Client => (
            t.untrusted_client,
            "invalid_request: client_id is missing, repeated or unknown",
        ),
        Untrusted::NoRedirect => (
            t.untrusted_no_redirect,
            "invalid_request: redirect_uri is missing or repeated",
        ),
        Untrusted::Redirect => (t.untrusted_redirect, "invalid_request: redirect_uri is not registered"),
        Untrusted::Origin => (
            t.untrusted_origin,
            "invalid_request: origin is missing, repeated or not registered",
        ),
    };
    refused(service, t, text, detail)
}

/// A request of the link component that cannot begin a flow.
pub(super) fn refused(service: &Arc<Service>, t: &'static Texts, text: &'static str, detail: &str) -> Response {
    let (title, texts) = (t.untrusted_title, vec![text, t.untrusted_what]);
    notice(
        service,
        t,
        StatusCode::BAD_REQUEST,
        title,
        texts,
        true,
        Some(detail),
        false,
    )
}

#[allow(clippy::too_many_arguments)]
fn notice(
    service: &Arc<Service>,
    t: &'static Texts,
    status: StatusCode,
    title: &str,
    texts: Vec<&'static str>,
    bad: bool,
    detail: Option<&str>,
    go_on: bool,
) -> Response {
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
    let template = Notice {
        s,
        texts,
        bad,
        detail,
        go_on,
    };
    page(status, &template, &Policy::default())
}
