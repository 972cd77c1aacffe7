//! The page for developers. It shows the tokens of a connection and the answers of searches, and has buttons to
//! refresh, introspect and revoke.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::Value;

use super::client::{Answer, Unreachable};
use super::pages::{DeveloperPage, Listed, Stage, failed, waiting};
use super::reading::text::{concept, moment, name_of, resources, said_day};
use super::records::{connection, stage, wait};
use super::session::{Connection, Deed};
use super::state::App;
use crate::sandbox::payer::answer::{page, see_other};
use crate::sandbox::payer::params::Params;

/// The resource types of the default search. The page shows the first type that has resources.
const FIRST: &[&str] = &[
    "ExplanationOfBenefit",
    "Observation",
    "Encounter",
    "Condition",
    "Coverage",
];
/// The default search if there are no resources of the types in `FIRST`.
const LAST: &str = "Patient?_total=accurate";
/// The maximum size in bytes of an answer on the page. Longer answers are cut.
const SHOWN: usize = 20_000;
/// The maximum number of resources in the list.
const MAX_LISTED: usize = 10;

/// Shows the page. Runs the search in the parameter `query`, or the default search.
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
            let listed = listed(&answer.body);
            let developer = DeveloperPage {
                who: if stage == Stage::There { session.who() } else { "" },
                user: &session.user,
                way: connection.way,
                stage,
                wait,
                status: answer.status,
                total: answer.body["total"].as_u64(),
                listed,
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
            waiting(page(StatusCode::OK, &developer), wait)
        }
        Err(error) => failed(&error.to_string()),
    }
}

/// Refreshes the access token.
pub(super) async fn refresh(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| {
        let token = connection.refresh_token.as_deref().unwrap_or_default();
        app.client.refresh(connection.way, token).await
    };
    done(&app, &headers, "Refresh", call).await
}

/// Introspects the access token.
pub(super) async fn introspect(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| app.client.introspect(connection.way, &connection.access_token).await;
    done(&app, &headers, "Introspection", call).await
}

/// Revokes the consent.
pub(super) async fn revoke(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let call = async |connection: &Connection| app.client.revoke(connection.way, &connection.access_token).await;
    done(&app, &headers, "Revocation", call).await
}

/// Makes a call, stores its answer in the session, and redirects to the page for developers.
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
        // A successful refresh returns new tokens, and the old ones are invalid now.
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
    see_other(&format!("{}/app/developer#last", app.client.settings.base_url))
}

/// Runs the search `asked`. If there is none, runs the default search. Returns the query with its answer.
async fn searched(app: &App, connection: &Connection, asked: Option<String>) -> Result<(String, Answer), Unreachable> {
    if let Some(query) = asked.filter(|query| !query.is_empty()) {
        let answer = app.client.fhir(&connection.access_token, &query).await?;
        return Ok((query, answer));
    }
    for resource_type in FIRST {
        let query = format!("{resource_type}?patient=$PATIENT_ID&_count=5&_total=accurate");
        let answer = app.client.fhir(&connection.access_token, &query).await?;
        if answer.status != 200 || answer.body["total"].as_u64() != Some(0) {
            return Ok((query, answer));
        }
    }
    let answer = app.client.fhir(&connection.access_token, LAST).await?;
    Ok((LAST.to_owned(), answer))
}

/// Returns the first resources of a Bundle, with titles and days for people. Other answers give an empty list.
fn listed(answer: &Value) -> Vec<Listed> {
    if answer["resourceType"] != "Bundle" {
        return Vec::new();
    }
    let found = resources(answer.clone());
    let named = found.iter().take(MAX_LISTED).map(|one| {
        let of_type = ["code", "type", "vaccineCode", "medicationCodeableConcept", "category"];
        let text = of_type
            .iter()
            .find_map(|name| concept(&one[*name]).or_else(|| concept(&one[*name][0])));
        let moments = ["effective", "occurrence", "performed", "onset", "serviced"];
        let days = ["period", "billablePeriod"]
            .iter()
            .filter_map(|name| one[*name]["start"].as_str());
        let written = ["authoredOn", "recordedDate", "created", "date"]
            .iter()
            .filter_map(|name| one[*name].as_str());
        let at = moments
            .iter()
            .filter_map(|name| moment(one, name))
            .chain(days)
            .chain(written)
            .next();
        Listed {
            name: name_of(one),
            title: text.unwrap_or_else(|| one["resourceType"].as_str().unwrap_or("Resource").to_owned()),
            when: at.map(said_day),
        }
    });
    named.collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_search_found_is_listed_in_words() {
        let visit = json!({"resourceType": "Encounter", "id": "1", "type": [{"text": "Check-up"}],
            "period": {"start": "2026-03-01"}});
        let bundle = json!({"resourceType": "Bundle", "entry": [{"resource": visit}, {"resource": {"resourceType": "X", "id": "2"}}]});
        let line = |name: &str, title: &str, when: Option<&str>| Listed {
            name: name.to_owned(),
            title: title.to_owned(),
            when: when.map(str::to_owned),
        };
        let expected = [
            line("Encounter/1", "Check-up", Some("1 March 2026")),
            line("X/2", "X", None),
        ];
        assert_eq!(listed(&bundle), expected);
        assert_eq!(listed(&json!({"resourceType": "OperationOutcome"})), []);
        let many = json!({"resourceType": "Bundle", "entry": vec![json!({"resource": {}}); MAX_LISTED + 1]});
        assert_eq!(listed(&many).len(), MAX_LISTED);
    }

    #[test]
    fn an_answer_is_cut_between_letters() {
        let long = "é".repeat(SHOWN);
        let said = pretty(&Value::String(long));
        assert!(said.len() <= SHOWN + 5 && said.ends_with("\n…"));
    }
}
