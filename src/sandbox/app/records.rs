//! What came of a connection: the tokens, the records once they are there, and the buttons of a developer.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;

use super::client::{Answer, Unreachable};
use super::pages::{RecordsPage, Stage, failed};
use super::routes::App;
use super::session::{Connection, Deed, Session};
use crate::sandbox::payer::answer::{page, see_other};
use crate::sandbox::payer::params::Params;

/// Seconds between two looks while the records are being fetched, where the service does not say.
const WAIT: u64 = 3;
/// What is searched for first: the first of these that there is anything of.
const FIRST: &[&str] = &[
    "ExplanationOfBenefit",
    "Observation",
    "Encounter",
    "Condition",
    "Coverage",
];
/// What is searched for where there is nothing of those.
const LAST: &str = "Patient?_total=accurate";
/// How much of an answer the page shows, in bytes.
const SHOWN: usize = 20_000;

/// The page of tokens and records.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let params = Params::parse(query.as_deref().unwrap_or_default().as_bytes());
    let Some((_, session, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let asked = params
        .get("query")
        .map(|query| query.trim().trim_start_matches('/').to_owned());
    match searched(&app, &connection, asked).await {
        Ok((query, answer)) => {
            let stage = stage(&answer);
            let wait = wait(&answer);
            let records = RecordsPage {
                user: &session.user,
                way: connection.way,
                stage,
                wait,
                status: answer.status,
                total: answer.body["total"].as_u64(),
                query: &query,
                answer: pretty(&answer.body),
                access_token: &connection.access_token,
                response: pretty(&connection.response),
                refreshable: connection.refresh_token.is_some(),
                last: session
                    .last
                    .as_ref()
                    .map(|deed| (deed.what, deed.status, pretty(&deed.body))),
            };
            page(StatusCode::OK, &records)
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Renews the access token.
pub(super) async fn refresh(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| {
        let token = connection.refresh_token.as_deref().unwrap_or_default();
        app.client.refresh(connection.way, token).await
    };
    done(&app, &headers, "Refresh", call).await
}

/// Asks what the access token stands for.
pub(super) async fn introspect(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| app.client.introspect(connection.way, &connection.access_token).await;
    done(&app, &headers, "Introspection", call).await
}

/// Ends the consent.
pub(super) async fn revoke(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| app.client.revoke(connection.way, &connection.access_token).await;
    done(&app, &headers, "Revocation", call).await
}

/// Makes a call, keeps what came of it, and leads back to the records.
async fn done(
    app: &App,
    headers: &HeaderMap,
    what: &'static str,
    call: impl AsyncFnOnce(&Connection) -> Result<Answer, Unreachable>,
) -> Response {
    let Some((name, _, connection)) = connection(app, headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let answer = match call(&connection).await {
        Ok(answer) => answer,
        Err(error) => return failed(&error.to_string()),
    };
    app.sessions.change(&name, |session| {
        // A refresh that worked gives new tokens, and the old ones are done with.
        if let (Some(connection), Some(token)) = (&mut session.connection, answer.body["access_token"].as_str()) {
            connection.access_token = token.to_owned();
            connection.refresh_token = answer.body["refresh_token"].as_str().map(str::to_owned);
            connection.response.clone_from(&answer.body);
        }
        session.last = Some(Deed {
            what,
            status: answer.status,
            body: answer.body,
        });
    });
    see_other(&format!("{}/app/records#last", app.client.settings.base_url))
}

pub(super) fn connection(app: &App, headers: &HeaderMap) -> Option<(String, Session, Connection)> {
    let (name, session) = app.sessions.of(headers)?;
    let connection = session.connection.clone()?;
    Some((name, session, connection))
}

/// What the user asked for, or the newest of what there is most likely something of.
async fn searched(app: &App, connection: &Connection, asked: Option<String>) -> Result<(String, Answer), Unreachable> {
    if let Some(query) = asked.filter(|query| !query.is_empty()) {
        let answer = app.client.fhir(&connection.access_token, &query).await?;
        return Ok((query, answer));
    }
    for ty in FIRST {
        let query = format!("{ty}?patient=$PATIENT_ID&_count=5&_total=accurate");
        let answer = app.client.fhir(&connection.access_token, &query).await?;
        if answer.status != 200 || answer.body["total"].as_u64() != Some(0) {
            return Ok((query, answer));
        }
    }
    let answer = app.client.fhir(&connection.access_token, LAST).await?;
    Ok((LAST.to_owned(), answer))
}

/// How far the records are, as the answer to a search tells.
pub(super) fn stage(answer: &Answer) -> Stage {
    match answer.status {
        200 => Stage::There,
        429 => Stage::Fetching,
        401 => Stage::Ended,
        422 => Stage::Failed,
        _ => Stage::Refused,
    }
}

/// Seconds until a page looks again, while the records are being fetched.
pub(super) fn wait(answer: &Answer) -> Option<u64> {
    (stage(answer) == Stage::Fetching).then(|| answer.wait.unwrap_or(WAIT))
}

fn pretty(value: &Value) -> String {
    let mut text = match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    if text.len() > SHOWN {
        let mut end = SHOWN;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n…");
    }
    text
}
