//! `GET /rest/consents`: the consents of an application in one mode, newest first.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::cursor::Cursor;
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
    let limit = json!({"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": PAGE});
    let operation = Operation::new(
        "consents",
        "The consents of the application and mode of the token, newest first",
    )
    .query("limit", limit)
    .query(
        "cursor",
        schema("string", "meta.nextCursor of the page before; it carries the state"),
    )
    .query("state", json!({"type": "string", "enum": states}))
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
    let state = state(parameter(query, "state").as_deref())?;
    let (store, scope) = (&*service.store, &*access.scope);
    let cursor = parameter(query, "cursor").filter(|text| !text.is_empty());
    let cursor = cursor.map(|text| Cursor::open(&text, store, scope)).transpose()?;
    // A cursor carries the state that filters its list. The parameter `state` must not contradict it.
    let state = match (&cursor, state) {
        (Some(cursor), Some(state)) if cursor.state != Some(state) => {
            let of = cursor.state.map_or("without a state", ConsentState::name);
            let problem = format!(
                "state is {state}, and the cursor is of a list {of}: leave state out, or begin without the cursor"
            );
            return Err(Error::Invalid(problem).into());
        }
        (Some(cursor), _) => cursor.state,
        (None, state) => state,
    };
    // Read one consent more than requested, to know whether there is another page.
    let mut found = store.consents().list(&ConsentFilter {
        application: Some(&scope.application),
        mode: Some(scope.mode),
        state,
        after: cursor.as_ref().map(|cursor| (cursor.at, cursor.id.as_str())),
        limit: limit + 1,
    })?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = match found.last().filter(|_| more) {
        None => None,
        Some(last) => {
            let (at, id) = (last.consent.created_at, last.consent.id.clone());
            Some(Cursor { at, id, state }.seal(store, scope)?)
        }
    };
    let shown = found
        .iter()
        .map(|full_consent| ShownConsent::of(service, full_consent, Extent::Summary));
    let shown: Vec<_> = shown.collect::<Result<_, _>>()?;
    Ok(json!({"consents": shown, "meta": {"hasMore": more, "nextCursor": next}}))
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
