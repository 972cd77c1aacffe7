//! Pages that only show a message, for example because there is no session or a request failed.

use std::sync::Arc;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::super::flow::request::Untrusted;
use super::super::language::Texts;
use super::answer::{Policy, because, page};
use super::view::{Message, Notice, Shell, Silent, Switch};
use crate::consent::{Application, Display, Flow};
use crate::http::error::Error;
use crate::http::service::Service;
use crate::http::throttle::Allowance;

/// Shows that there is no open session. The application is not known.
pub(in crate::http::connect) fn over(service: &Arc<Service>, t: &'static Texts) -> Response {
    let said = Said {
        switch: Some(session(service)),
        ..Said::plain(t.over_title, vec![t.over_text.to_owned(), t.over_again.to_owned()])
    };
    notice(service, t, StatusCode::GONE, said)
}

/// What the page about an ended session says.
pub(in crate::http::connect) struct Ending<'a> {
    pub(in crate::http::connect) title: &'a str,
    pub(in crate::http::connect) texts: Vec<String>,
    /// Whether records were shared.
    pub(in crate::http::connect) good: bool,
    /// The URL and the label of the link to the application.
    pub(in crate::http::connect) onward: Option<(String, String)>,
}

/// Shows that a known session has ended.
pub(in crate::http::connect) fn ended(
    service: &Arc<Service>,
    t: &'static Texts,
    flow: &Flow,
    application: &Application,
    ending: Ending<'_>,
) -> Response {
    let policy = match flow.request.display {
        Display::Frame => Policy::default().framed_by(&application.origins),
        Display::Page | Display::Popup => Policy::default(),
    };
    let said = Said {
        good: ending.good,
        onward: ending.onward,
        // In a frame, show no language switch, because it would not work: without a session it sets a cookie that the
        // browser does not accept in another site's frame.
        switch: (!matches!(flow.request.display, Display::Frame)).then(|| session(service)),
        ..Said::plain(ending.title, ending.texts)
    };
    bounded(service, t, StatusCode::GONE, said, &policy)
}

/// Shows that a form does not belong to the browser's session.
pub(in crate::http::connect) fn foreign(service: &Arc<Service>, t: &'static Texts) -> Response {
    let said = Said {
        onward: Some((session(service), t.other_go_on.to_owned())),
        switch: Some(session(service)),
        ..Said::plain(t.other_title, vec![t.other_text.to_owned()])
    };
    notice(service, t, StatusCode::FORBIDDEN, said)
}

/// Shows that a window's ticket was used already, is invalid or has expired.
pub(in crate::http::connect) fn stale_window(service: &Arc<Service>, t: &'static Texts) -> Response {
    let said = Said::plain(t.ticket_title, vec![t.ticket_text.to_owned()]);
    notice(service, t, StatusCode::FORBIDDEN, said)
}

/// Shows that a callback does not belong to a session of this browser.
pub(in crate::http::connect) fn stray(service: &Arc<Service>, t: &'static Texts) -> Response {
    let said = Said::bad(t.callback_title, vec![t.callback_text.to_owned()]);
    notice(service, t, StatusCode::BAD_REQUEST, said)
}

/// Shows that the window beside a frame is done. The page closes the window.
pub(in crate::http::connect) fn window_done(service: &Arc<Service>, t: &'static Texts) -> Response {
    let said = Said {
        closes: true,
        ..Said::plain(t.window_title, vec![t.window_text.to_owned()])
    };
    notice(service, t, StatusCode::OK, said)
}

/// Shows that there is no page at the requested URL. The page does not repeat this URL. Its language switch needs no
/// URL, because the link of the switch is relative. The page leads to the operator's help, because the start page is
/// for developers.
pub(in crate::http::connect) fn nowhere(service: &Arc<Service>, t: &'static Texts) -> Response {
    let (address, label) = match service.pages.branding.support() {
        Some(address) => (address.to_owned(), t.nowhere_help),
        None => (format!("{}/", service.base_path()), t.nowhere_start),
    };
    let said = Said {
        switch: Some(String::new()),
        onward: Some((address, label.to_owned())),
        ..Said::plain(t.nowhere_title, vec![t.nowhere_text.to_owned()])
    };
    notice(service, t, StatusCode::NOT_FOUND, said)
}

/// Shows that too many flows come from one address. Pages of the origins in `framed_by` may frame this page. `holder`
/// is the origin and the channel of a link component that is starting. The page sends a message to this link component.
/// `here` is the URL that shows the page again. It is `None` if the browser must not repeat the request.
pub(in crate::http::connect) fn busy(
    service: &Arc<Service>,
    t: &'static Texts,
    allowance: &Allowance,
    framed_by: &[String],
    holder: Option<(&str, &str)>,
    here: Option<String>,
) -> Response {
    let said = Said {
        switch: here,
        message: holder.map(|(origin, channel)| Message {
            error: "temporarily_unavailable",
            description: "Too many flows were begun from this network; try again later",
            ..Message::exit(origin, channel)
        }),
        ..Said::bad(t.busy_title, vec![t.busy_text.to_owned()])
    };
    let policy = Policy::default().framed_by(framed_by);
    let mut response = bounded(service, t, StatusCode::TOO_MANY_REQUESTS, said, &policy);
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from(allowance.wait));
    response
}

/// Shows that an internal error occurred.
pub(in crate::http::connect) fn broken(service: &Arc<Service>, t: &'static Texts, error: Error) -> Response {
    let said = Said {
        switch: Some(session(service)),
        ..Said::bad(t.broken_title, vec![t.broken_text.to_owned()])
    };
    because(notice(service, t, StatusCode::INTERNAL_SERVER_ERROR, said), &error)
}

/// Shows why a request cannot begin a flow. No redirect tells the application, because the client, its redirect URI or
/// its origin is not verified. The language switch leads to a URL that only shows this page, because the switch must
/// not repeat the request.
pub(in crate::http::connect) fn untrusted(service: &Arc<Service>, t: &'static Texts, why: Untrusted) -> Response {
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
    let texts = vec![text.to_owned(), t.untrusted_what.to_owned()];
    let said = Said {
        detail: Some(detail),
        switch: Some(format!("{}/connect/untrusted/{}", service.base_path(), why.name())),
        ..Said::bad(t.untrusted_title, texts)
    };
    notice(service, t, StatusCode::BAD_REQUEST, said)
}

/// Shows that the key or the origin of a link component is not known. In a frame, the page is blank. It only sends the
/// reason to the page that contains the component, because an unknown page must not show a page of the service in a
/// frame.
pub(in crate::http::connect) fn link_untrusted(
    service: &Arc<Service>,
    t: &'static Texts,
    why: Untrusted,
    holder: Option<(&str, &str)>,
    framed: bool,
) -> Response {
    let (text, error, description) = match why {
        Untrusted::Origin | Untrusted::NoRedirect | Untrusted::Redirect => (
            t.untrusted_origin,
            "invalid_origin",
            "origin is missing, repeated or not registered with the application of the publishable key",
        ),
        Untrusted::Client => (
            t.untrusted_client,
            "invalid_key",
            "publishable_key is missing, repeated or unknown",
        ),
    };
    let detail = format!("{error}: {description}");
    let message = holder.map(|(origin, channel)| Message {
        error,
        description,
        ..Message::exit(origin, channel)
    });
    let said = Said {
        detail: Some(&detail),
        message,
        ..Said::bad(t.untrusted_title, vec![text.to_owned(), t.untrusted_what.to_owned()])
    };
    match (framed, holder) {
        (true, Some((origin, _))) => {
            let silent = Silent {
                s: Shell::outside(service, t, said.title),
                message: said.message,
            };
            let policy = Policy::default().framed_by(&[origin.to_owned()]);
            page(StatusCode::BAD_REQUEST, &silent, &policy)
        }
        _ => notice(service, t, StatusCode::BAD_REQUEST, said),
    }
}

/// Returns the URL of the session's page. Without a session, the page at this URL says so. Its language switch works in
/// both cases.
fn session(service: &Service) -> String {
    format!("{}/connect", service.base_path())
}

/// The content of a page that only shows a message.
struct Said<'a> {
    title: &'a str,
    texts: Vec<String>,
    /// Whether records were shared.
    good: bool,
    /// Whether the message is about an error.
    bad: bool,
    detail: Option<&'a str>,
    onward: Option<(String, String)>,
    closes: bool,
    message: Option<Message<'a>>,
    /// The URL that shows the page in another language. `None` if the page cannot be shown again.
    switch: Option<String>,
}

impl<'a> Said<'a> {
    fn plain(title: &'a str, texts: Vec<String>) -> Said<'a> {
        Said {
            title,
            texts,
            good: false,
            bad: false,
            detail: None,
            onward: None,
            closes: false,
            message: None,
            switch: None,
        }
    }

    fn bad(title: &'a str, texts: Vec<String>) -> Said<'a> {
        Said {
            bad: true,
            ..Said::plain(title, texts)
        }
    }
}

fn notice(service: &Arc<Service>, t: &'static Texts, status: StatusCode, said: Said<'_>) -> Response {
    bounded(service, t, status, said, &Policy::default())
}

fn bounded(service: &Arc<Service>, t: &'static Texts, status: StatusCode, said: Said<'_>, policy: &Policy) -> Response {
    let template = Notice {
        s: Shell {
            languages: said.switch.map(|address| Switch {
                address,
                all: service.pages.languages.all(),
            }),
            ..Shell::outside(service, t, said.title)
        },
        texts: said.texts,
        good: said.good,
        bad: said.bad,
        detail: said.detail,
        onward: said.onward,
        closes: said.closes,
        message: said.message,
    };
    page(status, &template, policy)
}
