//! Tells the application how a flow ended: by a redirect, or by a page that sends a message to the link component.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;

use super::super::flow::redirect_uri::with_query;
use super::super::flow::session::cookie;
use super::super::language::Texts;
use super::answer::{Policy, page, see_other, with_cookie};
use super::left;
use super::view::{End, Message, Shell};
use crate::consent::{Application, ConsentState, Display, Ended, Flow, FlowRequest};
use crate::http::service::Service;
use crate::lake::Mode;

const ACCESS_DENIED: &str = "access_denied";
const SERVER_ERROR: &str = "server_error";

/// Why an application gets neither a code nor a public token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::connect) enum Denial {
    /// The patient cancelled.
    Cancelled,
    /// The sources had no records of the patient.
    NoRecords,
    /// The session timed out.
    TimedOut,
    /// Another request ended the flow.
    Abandoned,
    /// Every source failed.
    NoFacilities,
    /// The service failed to begin the flow.
    NotBegun,
    /// The service failed to finish the flow.
    NotFinished,
}

impl Denial {
    fn error(self) -> &'static str {
        match self {
            Denial::Cancelled | Denial::NoRecords | Denial::TimedOut | Denial::Abandoned => ACCESS_DENIED,
            Denial::NoFacilities | Denial::NotBegun | Denial::NotFinished => SERVER_ERROR,
        }
    }

    fn description(self) -> &'static str {
        match self {
            Denial::Cancelled => "User cancelled the consent flow",
            Denial::NoRecords => "No records found for this patient",
            Denial::TimedOut => "The session timed out",
            Denial::Abandoned => "The consent flow was abandoned",
            Denial::NoFacilities => "No facilities could be authorized",
            Denial::NotBegun => "The consent flow could not be started",
            Denial::NotFinished => "The authorization code could not be created",
        }
    }

    /// Returns the error code whose page explains the denial to the patient. `None` if the patient cancelled or has no
    /// records, because the patient knows that already.
    fn code(self) -> Option<&'static str> {
        match self {
            Denial::Cancelled | Denial::NoRecords => None,
            Denial::TimedOut => Some("session_timeout"),
            Denial::Abandoned => Some("abandoned"),
            Denial::NoFacilities => Some("no_facilities"),
            Denial::NotBegun | Denial::NotFinished => Some(SERVER_ERROR),
        }
    }
}

/// Sends the result of a finished flow to the application.
pub(in crate::http::connect) fn ended(
    service: &Arc<Service>,
    t: &'static Texts,
    flow: &Flow,
    application: &Application,
    ended: &Ended,
) -> Response {
    match ended {
        Ended::NoSource => denied(service, t, flow, application, Denial::NoFacilities),
        Ended::Code(code) => {
            let mut pairs = vec![("code", code.as_str())];
            pairs.extend(flow.request.state.as_deref().map(|state| ("state", state)));
            let uri = flow.request.redirect_uri.as_deref().unwrap_or_default();
            closed(service, flow, see_other(&with_query(uri, &pairs)))
        }
        Ended::PublicToken(token) => {
            let text = t.fill(t.done_text, &application.name);
            let message = message(&flow.request, "success", token, None);
            let page = last(service, t, flow, application, t.done_title, text, message, true);
            closed(service, flow, page)
        }
    }
}

/// Tells the application that the flow ended and nothing is shared.
pub(in crate::http::connect) fn denied(
    service: &Arc<Service>,
    t: &'static Texts,
    flow: &Flow,
    application: &Application,
    denial: Denial,
) -> Response {
    let response = match &flow.request.redirect_uri {
        Some(uri) => refused(
            service,
            uri,
            flow.request.state.as_deref(),
            denial.error(),
            denial.description(),
            denial.code(),
        ),
        None => {
            let message = message(&flow.request, "exit", "", Some((denial.error(), denial.description())));
            last(
                service,
                t,
                flow,
                application,
                t.left_title,
                t.left_text.to_owned(),
                message,
                false,
            )
        }
    };
    closed(service, flow, response)
}

/// Tells the application that the flow ended before this request: the session timed out, or another request ended it.
pub(in crate::http::connect) fn lapsed(
    service: &Arc<Service>,
    t: &'static Texts,
    flow: &Flow,
    application: &Application,
) -> Response {
    let denial = match flow.consent.state {
        ConsentState::Abandoned => Denial::TimedOut,
        _ => Denial::Abandoned,
    };
    denied(service, t, flow, application, denial)
}

/// Redirects to the application with the error that the service failed to begin the flow.
pub(in crate::http::connect) fn not_begun(service: &Arc<Service>, uri: &str, state: Option<&str>) -> Response {
    let denial = Denial::NotBegun;
    refused(service, uri, state, denial.error(), denial.description(), denial.code())
}

/// Redirects to the application with an error. The caller has verified the redirect URI. `code` is the error code of
/// the page to which `error_uri` leads. Without a code, the redirect has no `error_uri`.
pub(in crate::http::connect) fn refused(
    service: &Service,
    uri: &str,
    state: Option<&str>,
    error: &str,
    description: &str,
    code: Option<&str>,
) -> Response {
    let about = code.map(|code| format!("{}/errors/{code}", service.base_url));
    let mut pairs = vec![("error", error), ("error_description", description)];
    pairs.extend(about.as_deref().map(|about| ("error_uri", about)));
    pairs.extend(state.map(|state| ("state", state)));
    see_other(&with_query(uri, &pairs))
}

fn message<'a>(
    request: &'a FlowRequest,
    event: &'static str,
    token: &'a str,
    error: Option<(&'a str, &'a str)>,
) -> Option<Message<'a>> {
    let holder = request.holder.as_ref()?;
    let (error, description) = error.unwrap_or_default();
    Some(Message {
        origin: &holder.origin,
        channel: &holder.channel,
        event,
        token,
        error,
        description,
    })
}

/// Renders the flow's last page. The page sends `message` to the link component, if there is one. `good`: records are
/// shared.
#[allow(clippy::too_many_arguments)]
fn last(
    service: &Arc<Service>,
    t: &'static Texts,
    flow: &Flow,
    application: &Application,
    title: &str,
    text: String,
    message: Option<Message<'_>>,
    good: bool,
) -> Response {
    let s = Shell {
        test: flow.consent.mode == Mode::Test,
        ..Shell::outside(service, t, title)
    };
    let policy = match flow.request.display {
        Display::Frame => Policy::default().framed_by(&application.origins),
        Display::Page | Display::Popup => Policy::default(),
    };
    let end = End {
        s,
        text,
        next: good.then(|| t.fill(t.done_next, &application.name)),
        good,
        message,
    };
    page(StatusCode::OK, &end, &policy)
}

/// Makes the browser delete the session's cookie, and remember the session as the last one that ended.
fn closed(service: &Service, flow: &Flow, response: Response) -> Response {
    let framed = flow.request.display == Display::Frame;
    left::noted(
        service,
        flow,
        with_cookie(response, cookie::cleared(service, cookie::SESSION, framed)),
    )
}

/// Renders a page that sends an error to the link component. The caller has verified the origin of the component's
/// page.
pub(in crate::http::connect) fn link_refused(
    service: &Arc<Service>,
    t: &'static Texts,
    holder: (&str, &str),
    framed_by: &[String],
    error: &str,
    description: &str,
) -> Response {
    let message = Message {
        error,
        description,
        ..Message::exit(holder.0, holder.1)
    };
    let titled = (t.untrusted_title, t.untrusted_what);
    link_ended(service, t, StatusCode::BAD_REQUEST, titled, message, framed_by)
}

/// Renders a page that tells the link component that the service failed to begin the flow. The caller has verified
/// the origin of the component's page.
pub(in crate::http::connect) fn link_not_begun(
    service: &Arc<Service>,
    t: &'static Texts,
    holder: (&str, &str),
    framed_by: &[String],
) -> Response {
    let message = Message {
        error: Denial::NotBegun.error(),
        description: Denial::NotBegun.description(),
        ..Message::exit(holder.0, holder.1)
    };
    let titled = (t.broken_title, t.broken_text);
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    link_ended(service, t, status, titled, message, framed_by)
}

fn link_ended(
    service: &Arc<Service>,
    t: &'static Texts,
    status: StatusCode,
    (title, text): (&str, &str),
    message: Message<'_>,
    framed_by: &[String],
) -> Response {
    let s = Shell::outside(service, t, title);
    let end = End {
        s,
        text: text.to_owned(),
        next: None,
        good: false,
        message: Some(message),
    };
    page(status, &end, &Policy::default().framed_by(framed_by))
}
