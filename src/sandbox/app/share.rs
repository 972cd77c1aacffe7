//! Shares a record: a health card to download, and health links that others open by an address or a QR code.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::{Value, json};

use super::client::Answer;
use super::pages::{Link, Loads, SharePage, Stage, failed, loading, waiting};
use super::reading::text::said_day;
use super::record::{kept, not_yet};
use super::records::{connection, stage, wait};
use super::session::NewLink;
use super::state::App;
use crate::sandbox::payer::answer::{page, see_other};
use crate::sandbox::payer::params::Params;

const CARD: &str = "Patient/$PATIENT_ID/$health-cards-issue";

impl Link {
    fn read(link: &Value) -> Option<Link> {
        let text = |name: &str| link[name].as_str().map(str::to_owned);
        let until = text("expiresAt")?;
        Some(Link {
            id: text("id")?,
            label: text("label"),
            is_card: link["content"] == "health-card",
            has_passcode: link["flag"] == "P",
            until: said_day(&until),
            uses: link["uses"].as_u64().unwrap_or_default(),
        })
    }
}

/// Downloads the health card as a file for wallets.
pub(super) async fn card(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, _, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let asked = json!({"resourceType": "Parameters",
        "parameter": [{"name": "credentialType", "valueUri": "Patient/$everything"}]});
    match app.client.operation(&connection.access_token, CARD, &asked).await {
        Ok(answer) if answer.status == 200 => {
            let card = &answer.body["parameter"][0]["valueString"];
            let name = HeaderValue::from_static("attachment; filename=\"record.smart-health-card\"");
            let file = json!({"verifiableCredential": [card]}).to_string();
            kept("application/smart-health-card", name, file)
        }
        Ok(answer) => not_yet(&answer),
        Err(error) => failed(&error.to_string()),
    }
}

/// Shows the health links.
pub(super) async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some((_, mut session, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let answer = match app.client.links(&connection.access_token).await {
        Ok(answer) => answer,
        Err(error) => return failed(&error.to_string()),
    };
    let listed = answer.body["healthLinks"].as_array().into_iter().flatten();
    let links: Vec<Link> = listed.filter_map(Link::read).collect();
    let made = session.link.take();
    let made = made.filter(|made| links.iter().any(|link| link.id == made.id));
    let stage = match answer.status {
        200 => Stage::There,
        _ => stage(&answer),
    };
    let share = SharePage {
        who: if stage == Stage::There { session.who() } else { "" },
        stage,
        wait: wait(&answer),
        problem: session.problem.as_deref(),
        made: made.as_ref(),
        links,
    };
    // Without `wait`, the page may show a new link with its QR code. The QR code is a picture that the page embeds.
    match share.wait {
        None => loading(page(StatusCode::OK, &share), Loads::Picture),
        wait => waiting(page(StatusCode::OK, &share), wait),
    }
}

/// Creates a link, and redirects to the page that shows it.
pub(super) async fn make(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Response {
    let form = Params::parse(&body);
    let Some((name, _, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let mut asked = json!({"content": form.text("content")});
    for member in ["label", "passcode"] {
        let text = form.text(member).trim();
        if !text.is_empty() {
            asked[member] = text.into();
        }
    }
    match app.client.make_link(&connection.access_token, &asked).await {
        Ok(answer) => {
            let made = NewLink::read(&answer.body);
            app.sessions.change(&name, |session| {
                session.problem = made.is_none().then(|| refusal(&answer));
                session.link = made.or(session.link.take());
            });
            back(&app)
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Revokes a link.
pub(super) async fn end(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Response {
    let form = Params::parse(&body);
    let Some((name, _, connection)) = connection(&app, &headers) else {
        return see_other(&format!("{}/app", app.client.settings.base_url));
    };
    let id = form.text("id");
    // The id becomes part of an address. So an id with other characters than letters, digits and hyphens is refused.
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return failed("There is no such link.");
    }
    match app.client.end_link(&connection.access_token, id).await {
        Ok(answer) => {
            // If the link is already revoked, the service answers 404. This is not an error here.
            let is_over = matches!(answer.status, 204 | 404);
            app.sessions.change(&name, |session| {
                session.problem = (!is_over).then(|| refusal(&answer));
            });
            back(&app)
        }
        Err(error) => failed(&error.to_string()),
    }
}

fn back(app: &App) -> Response {
    see_other(&format!("{}/app/share", app.client.settings.base_url))
}

/// Returns the service's error message. If the answer has none, returns a sentence with the answer's status.
fn refusal(answer: &Answer) -> String {
    let said = answer.body["message"].as_str();
    said.map_or_else(
        || format!("The service answered with status {}.", answer.status),
        str::to_owned,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_listed_as_the_service_tells_of_them() {
        let listed = json!({"id": "1", "content": "health-card", "label": null, "flag": "P",
            "createdAt": "2026-11-23T10:00:00Z", "expiresAt": "2026-12-23T10:00:00Z", "uses": 2});
        let expected = Link {
            id: "1".to_owned(),
            label: None,
            is_card: true,
            has_passcode: true,
            until: "23 December 2026".to_owned(),
            uses: 2,
        };
        assert_eq!(Link::read(&listed), Some(expected));
        assert_eq!(Link::read(&json!({"id": "1"})), None);
        let picture = |svg: &str| {
            NewLink::read(
                &json!({"id": "1", "viewerUrl": "http://127.0.0.1:1/health-link#shlink:/x",
            "qr": {"svg": svg}}),
            )
        };
        assert!(picture("data:image/svg+xml;base64,AA==").is_some());
        // Only a `data:` URL is accepted as the picture.
        assert!(picture("https://elsewhere.example/x.svg").is_none());
    }
}
