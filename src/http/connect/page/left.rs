//! Tells a browser without an open session how its last session ended, and links to the application. A cookie has the
//! key of that session. The key grants no access. It has no effect after the session's rows are deleted.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;

use super::super::flow::session::cookie;
use super::notice::{self, Ending};
use crate::consent::{Application, ConsentState, Display, Flow, SessionKey};
use crate::http::service::Service;

use super::super::language::Texts;
use super::answer::with_cookie;

/// The cookie with the key of the session that ended last.
const LEFT: &str = "svc_left";

/// Sets the cookie that remembers this session as the last one that ended.
pub(in crate::http::connect) fn noted(service: &Service, flow: &Flow, response: Response) -> Response {
    let framed = flow.request.display == Display::Frame;
    with_cookie(response, cookie::set(service, LEFT, &flow.key.text(), framed))
}

/// Returns the page for a browser without an open session. If a cookie has the key of a known session, the page says
/// how this session ended.
pub(in crate::http::connect) async fn answer(
    service: &Arc<Service>,
    t: &'static Texts,
    headers: &HeaderMap,
) -> Response {
    let open = cookie::read(service, headers, cookie::SESSION).map(|cookie| SessionKey::of(&cookie));
    let ended = cookie::read(service, headers, LEFT).and_then(|text| SessionKey::from_text(&text));
    let found = service.blocking(move |service| {
        for key in open.into_iter().chain(ended) {
            if let Some(flow) = service.store.flows().peek(key)? {
                let application = service.store.applications().get(&flow.consent.application)?;
                return Ok(application.map(|application| (flow, application)));
            }
        }
        Ok::<_, crate::consent::Error>(None)
    });
    match found.await {
        // If the store fails, show the page that does not mention an application.
        Ok(Ok(Some((flow, application)))) => over(service, t, &flow, &application),
        _ => notice::over(service, t),
    }
}

fn over(service: &Arc<Service>, t: &'static Texts, flow: &Flow, application: &Application) -> Response {
    let name = &application.name;
    let shared = matches!(flow.consent.state, ConsentState::Authorized | ConsentState::Exchanged);
    let (title, mut texts) = if shared {
        let texts = vec![t.fill(t.over_shared, name), t.fill(t.done_next, name)];
        (t.over_shared_title, texts)
    } else {
        (t.over_title, vec![t.fill(t.over_left, name)])
    };
    if flow.request.display != Display::Page {
        texts.push(t.over_close.to_owned());
    }
    let ending = Ending {
        title,
        texts,
        good: shared,
        onward: home(flow).map(|address| (address, t.fill(t.over_back, name))),
    };
    notice::ended(service, t, flow, application, ending)
}

/// Returns the origin of the application's redirect URI as a link. `None` if there is no such URI, or if its scheme is
/// neither `http` nor `https`.
fn home(flow: &Flow) -> Option<String> {
    let uri = url::Url::parse(flow.request.redirect_uri.as_deref()?).ok()?;
    let origin = uri.origin();
    matches!(uri.scheme(), "https" | "http").then(|| format!("{}/", origin.ascii_serialization()))
}
