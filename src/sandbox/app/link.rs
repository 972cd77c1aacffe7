//! Connects by the link component instead of a redirect: shows a page with the component, and exchanges the public
//! token that it returns.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::client::Way;
use super::pages::{LinkPage, Loads, failed, loading};
use super::start::connected;
use super::state::{App, with_cookie};
use crate::sandbox::payer::answer::{body, page};
use crate::sandbox::payer::params::Params;

/// Shows the page with the component.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let (_, session, cookie) = app.sessions.of_or_new(&headers);
    let settings = &app.client.settings;
    let link = LinkPage {
        user: &session.user,
        service: &settings.service,
        publishable_key: &settings.publishable_key,
    };
    // The component's script and frame come from the service, so allow the page to load them.
    let response = loading(page(StatusCode::OK, &link), Loads::Link);
    with_cookie(response, cookie)
}

/// Returns the page's script. It opens the component when the button is pressed.
pub(super) async fn script() -> Response {
    let text = include_str!("../../../templates/sandbox/app/link.js");
    body(StatusCode::OK, "text/javascript; charset=utf-8", text)
}

/// Exchanges the public token for tokens. The server does this and not the browser, because only the server has the
/// secret key.
pub(super) async fn exchange(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Response {
    let form = Params::parse(&body);
    let Some((name, _)) = app.sessions.of(&headers) else {
        return failed("There is no session in this browser.");
    };
    match app.client.exchange_public_token(form.text("public_token")).await {
        Ok(answer) => connected(&app, &name, Way::Link, answer),
        Err(error) => failed(&error.to_string()),
    }
}
