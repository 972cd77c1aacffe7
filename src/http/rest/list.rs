//! `GET /rest/consents`: the consents of an application in one mode, newest first.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::cursor::{Cursor, Filters};
use super::described;
use super::shown::{Extent, ShownConsent};
use crate::consent::{Access, ConsentFilter, ConsentState};
use crate::http::auth::AnyToken;
use crate::http::error::Error;
use crate::http::fhir::negotiate::parameter;
use crate::http::message::Refused;
use crate::http::routes::{Operation, Route, schema};
use crate::http::service::Service;
use crate::http::shape::no_store;

const JSON: &str = "application/json";
const PAGE: u32 = 20;
const LARGEST_PAGE: u32 = 100;

pub(super) fn routes() -> Vec<Route> {
    let states: Vec<&str> = ConsentState::ALL.iter().map(|state| state.name()).collect();
    let limit = json!({"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": PAGE,
        "description": "consents on a page"});
    let operation = Operation::new(
        "consents",
        "The consents of the application and mode of the token, newest first",
    )
    .query("limit", limit)
    .query(
        "cursor",
        schema(
            "string",
            "meta.nextCursor of the page before; it carries the state and the externalId",
        ),
    )
    .query(
        "state",
        json!({"type": "string", "enum": states, "description": "only consents in this state"}),
    )
    .query(
        "externalId",
        schema(
            "string",
            "only consents of this user: the value of svc_external_id or externalId",
        ),
    )
    .response(
        200,
        "Consents in summary, and in meta how to go on",
        &[JSON],
        &described::consents(),
    );
    vec![Route::at("/rest/consents").get(list, operation)]
}

async fn list(
    State(service): State<Arc<Service>>,
    AnyToken(access): AnyToken,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    if access.patients().is_some() {
        return Err(Error::ApplicationToken.into());
    }
    let work = move |service: &Service| {
        let page = page(service, &access, query.as_deref())?;
        Ok(no_store(StatusCode::OK, &page)?)
    };
    service.blocking(work).await?
}

fn page(service: &Service, access: &Access, query: Option<&str>) -> Result<Value, Refused> {
    let limit = limit(parameter(query, "limit").as_deref())?;
    let asked = Filters {
        state: state(parameter(query, "state").as_deref())?,
        external_id: external_id(parameter(query, "externalId"))?,
    };
    let (store, scope) = (&*service.store, &*access.scope);
    let cursor = parameter(query, "cursor").filter(|text| !text.is_empty());
    let cursor = cursor.map(|text| Cursor::open(&text, store, scope)).transpose()?;
    let filters = match &cursor {
        Some(cursor) => agreed(&cursor.filters, &asked)?,
        None => &asked,
    };
    // Read one consent more than requested, to know whether there is another page.
    let mut found = store.consents().list(&ConsentFilter {
        application: Some(&scope.application),
        mode: Some(scope.mode),
        state: filters.state,
        external_id: filters.external_id.as_deref(),
        after: cursor.as_ref().map(|cursor| (cursor.at, cursor.id.as_str())),
        limit: limit + 1,
    })?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = match found.last().filter(|_| more) {
        None => None,
        Some(last) => {
            let next = Cursor {
                at: last.consent.created_at,
                id: last.consent.id.clone(),
                filters: filters.clone(),
            };
            Some(next.seal(store, scope)?)
        }
    };
    let shown = found
        .iter()
        .map(|full_consent| ShownConsent::of(service, full_consent, Extent::Summary));
    let shown: Vec<_> = shown.collect::<Result<_, _>>()?;
    Ok(json!({"consents": shown, "meta": {"hasMore": more, "nextCursor": next}}))
}

/// Returns the filters of a cursor. It carries those of its list, so parameters may repeat them, but not contradict
/// them.
fn agreed<'c>(of_cursor: &'c Filters, asked: &Filters) -> Result<&'c Filters, Error> {
    if let Some(state) = asked.state.filter(|_| asked.state != of_cursor.state) {
        let of = of_cursor.state.map_or("without a state", ConsentState::name);
        let problem =
            format!("state is {state}, and the cursor is of a list {of}: leave state out, or begin without the cursor");
        return Err(Error::Invalid(problem));
    }
    if asked.external_id.is_some() && asked.external_id != of_cursor.external_id {
        let problem = "externalId is not that of the cursor's list: leave externalId out, or begin without the cursor";
        return Err(Error::Invalid(problem.to_owned()));
    }
    Ok(of_cursor)
}

fn limit(text: Option<&str>) -> Result<u32, Error> {
    let Some(text) = text else { return Ok(PAGE) };
    let limit = text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
    limit.ok_or_else(|| Error::Invalid(format!("limit must be a whole number from 1 to {LARGEST_PAGE}")))
}

fn state(text: Option<&str>) -> Result<Option<ConsentState>, Error> {
    let Some(text) = text else { return Ok(None) };
    let names: Vec<&str> = ConsentState::ALL.iter().map(|state| state.name()).collect();
    let state = ConsentState::named(text).map(Some);
    state.ok_or_else(|| Error::Invalid(format!("state must be one of {}", names.join(", "))))
}

fn external_id(text: Option<String>) -> Result<Option<String>, Error> {
    match text {
        Some(text) if text.is_empty() => Err(Error::Invalid("externalId must not be empty".to_owned())),
        text => Ok(text),
    }
}
