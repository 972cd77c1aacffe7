//! Connects to the service: the authorization request, the callback, and the exchange of the code.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use url::Url;

use super::client::{Answer, Way};
use super::pages::{CodePage, StartPage, failed, refused};
use super::session::{Connection, Pending};
use super::state::{App, with_cookie};
use crate::sandbox::payer::answer::{page, see_other};
use crate::sandbox::payer::params::Params;

/// Shows the start page.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let (_, session, cookie) = app.sessions.of_or_new(&headers);
    let start = StartPage {
        user: &session.user,
        connected: session.connection.is_some(),
        service: &app.client.settings.service,
    };
    with_cookie(page(StatusCode::OK, &start), cookie)
}

/// Redirects the user to the service with a state and a PKCE challenge. The session keeps the state and the verifier.
pub(super) async fn connect(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Response {
    let choices = Params::parse(&body);
    let (name, session, cookie) = app.sessions.of_or_new(&headers);
    let pending = Pending::new();
    let Ok(mut url) = Url::parse(&format!("{}/oauth/authorize", app.client.settings.service)) else {
        return failed("The service's address is none.");
    };
    let scope = match choices.get("offline") {
        Some(_) => "launch/patient offline_access",
        None => "launch/patient",
    };
    url.query_pairs_mut().extend_pairs([
        ("client_id", app.client.settings.publishable_key.as_str()),
        ("redirect_uri", &app.client.redirect_uri()),
        ("response_type", "code"),
        ("code_challenge", &pending.challenge()),
        ("code_challenge_method", "S256"),
        ("scope", scope),
        ("state", &pending.state),
        ("svc_external_id", &session.user),
    ]);
    let mode = match choices.text("way") {
        "search" => Some("svc_search_mode"),
        "ial2" => Some("svc_ial2_mode"),
        _ => None,
    };
    if let Some(mode) = mode {
        url.query_pairs_mut().append_pair(mode, "true");
    }
    app.sessions.change(&name, |session| session.pending = Some(pending));
    with_cookie(see_other(url.as_str()), cookie)
}

/// Handles the redirect from the service to the callback: checks the state, and exchanges the code for tokens.
pub(super) async fn callback(State(app): State<Arc<App>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let pending = app
        .sessions
        .of(&headers)
        .and_then(|(name, _)| Some((app.sessions.take_pending(&name)?, name)));
    let Some((pending, name)) = pending.filter(|(pending, _)| params.text("state") == pending.state) else {
        return failed("This answer belongs to no connection that was begun in this browser.");
    };
    if let Some(error) = params.get("error") {
        return refused(error, params.text("error_description"), params.get("error_uri"));
    }
    match app.client.exchange_code(params.text("code"), &pending.verifier).await {
        Ok(answer) => connected(&app, &name, Way::Oauth, answer),
        Err(error) => failed(&error.to_string()),
    }
}

/// Handles the redirect of an authorization request that a developer made by hand. Shows the code.
pub(super) async fn code(RawQuery(query): RawQuery) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    match (params.get("code"), params.get("error")) {
        (Some(code), _) => page(StatusCode::OK, &CodePage { code }),
        (None, Some(error)) => refused(error, params.text("error_description"), params.get("error_uri")),
        (None, None) => failed("Neither a code nor an error came."),
    }
}

/// Stores the tokens of an exchange and redirects to the records. If the answer has no access token, shows its error.
pub(super) fn connected(app: &App, name: &str, way: Way, answer: Answer) -> Response {
    let Some(access_token) = answer.body["access_token"].as_str().map(str::to_owned) else {
        let error = answer.body["error"].as_str().unwrap_or("an error");
        let description = answer.body["error_description"].as_str().unwrap_or_default();
        return refused(error, description, None);
    };
    let connection = Connection {
        way,
        access_token,
        refresh_token: answer.body["refresh_token"].as_str().map(str::to_owned),
        response: answer.body,
    };
    app.sessions.change(name, |session| {
        session.connection = Some(connection);
        session.name = None;
        session.last = None;
    });
    see_other(&format!("{}/app/records", app.client.settings.base_url))
}
