//! Shows a consent: its state, its sources and its syncs.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::consent::{Consent, ConsentWithSources, ListedJob, Source};
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::console::shown::tenant::Tenant;
use crate::http::error::Error;
use crate::http::service::Service;

/// The maximum number of syncs on the page. The newest are shown.
const SYNCS: u32 = 50;

#[derive(Template)]
#[template(path = "console/consent.html")]
struct Page<'a> {
    frame: &'a Frame,
    id: &'a str,
    facts: Vec<(&'static str, Cell)>,
    sources: Vec<[Cell; 6]>,
    syncs: Vec<[Cell; 5]>,
    /// Whether the consent may have more syncs than the page shows.
    is_cut: bool,
}

/// Answers `GET /console/kept/consents/{id}`.
pub(in crate::http::console) async fn consent(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(id): Path<String>,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        let reading = service.blocking(move |service| {
            let found = service.store.consents().full(&id)?;
            let syncs = service.store.jobs().list(Some(&id), SYNCS)?;
            Ok::<_, crate::consent::Error>((found, syncs))
        });
        let (found, syncs) = reading.await?.map_err(Error::internal)?;
        let found = found.ok_or_else(|| Error::Unknown("there is no such consent".to_owned()))?;
        let ConsentWithSources { consent, sources } = &found;
        let page = Page {
            frame: &frame,
            id: &consent.id,
            facts: facts(consent, &frame.root),
            sources: sources.iter().map(source).collect(),
            is_cut: syncs.len() as u64 == u64::from(SYNCS),
            syncs: syncs.iter().map(|listed| sync(listed, &frame.root)).collect(),
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

fn facts(consent: &Consent, root: &str) -> Vec<(&'static str, Cell)> {
    let mut facts = vec![
        ("Application", Cell::text(&consent.application)),
        ("Records", Cell::text(consent.mode.schema())),
        ("State", Cell::text(&consent.state.to_string())),
        ("Made by", Cell::text(&consent.made_by.to_string())),
        ("Usage", Cell::text(&consent.usage.to_string())),
        ("Made", Cell::time(consent.created_at)),
        ("Changed", Cell::maybe(consent.updated_at)),
        ("Refresh until", Cell::maybe(consent.refresh_until)),
        ("Erasure asked", Cell::maybe(consent.expunged_at)),
        ("Scope", Cell::text(&consent.scope)),
    ];
    let place = Tenant::of(consent.mode, &consent.application).path;
    let patient = |id: &String| ("Patient", Cell::link(id, &format!("{root}/patient/{place}/{id}")));
    facts.extend(consent.patients.iter().map(patient));
    facts.retain(|(_, cell)| !cell.html.is_empty());
    facts
}

fn source(source: &Source) -> [Cell; 6] {
    let missing: Vec<String> = source.missing.iter().map(|missing| missing.line()).collect();
    [
        Cell::text(&source.endpoint.name),
        Cell::text(&source.authorization.state.to_string()),
        Cell::maybe(source.authorization.authorized_at),
        Cell::text(&source.sync.map(|state| state.to_string()).unwrap_or_default()),
        Cell::maybe(source.synced_at),
        Cell::text(&missing.join("; ")),
    ]
}

fn sync(listed: &ListedJob, root: &str) -> [Cell; 5] {
    let records: u64 = listed.report.counts.iter().map(|(_, records)| records).sum();
    let job = &listed.job;
    [
        Cell::link(&job.id, &format!("{root}/kept/syncs/{}", job.id)),
        Cell::text(&listed.endpoint),
        Cell::text(&job.state.to_string()),
        Cell::time(job.created_at),
        Cell::number(records),
    ]
}
