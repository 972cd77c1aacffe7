//! Shows a consent: its state, its sources and its syncs.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::one::{One, Table};
use crate::consent::{Consent, ConsentWithSources, ListedJob, Source};
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::console::shown::tenant::Tenant;
use crate::http::error::Error;
use crate::http::service::Service;

/// The maximum number of syncs on the page. The newest are shown.
const SYNCS: u32 = 50;

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
        Ok(html(StatusCode::OK, &page(&frame, &found, &syncs)))
    };
    page_or_error(&frame, work).await
}

fn page<'f>(frame: &'f Frame, found: &ConsentWithSources, syncs: &[ListedJob]) -> One<'f> {
    let ConsentWithSources { consent, sources } = found;
    let mut tables = vec![Table {
        id: "sources",
        heading: "Sources",
        columns: vec!["Source", "State", "Authorized", "Newest sync", "Synced", "Missing"],
        texts: 6,
        rows: sources.iter().map(source).collect(),
        note: if sources.is_empty() {
            "None. The records were imported."
        } else {
            ""
        }
        .to_owned(),
    }];
    if !syncs.is_empty() {
        let count = syncs.len();
        // There may be more of them than were read.
        let is_cut = count as u64 == u64::from(SYNCS);
        tables.push(Table {
            id: "syncs",
            heading: "Syncs",
            columns: vec!["Sync", "Source", "State", "Made", "Records"],
            texts: 4,
            rows: syncs.iter().map(|listed| sync(listed, &frame.root)).collect(),
            note: if is_cut {
                format!("The newest {count}, newest first.")
            } else {
                "All, newest first.".to_owned()
            },
        });
    }
    One {
        frame,
        kind: "Consent",
        id: consent.id.clone(),
        list: ("consents", "Consents"),
        facts: facts(consent, &frame.root),
        failure: None,
        tables,
    }
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

fn source(source: &Source) -> Vec<Cell> {
    let missing: Vec<String> = source.missing.iter().map(|missing| missing.line()).collect();
    vec![
        Cell::text(&source.endpoint.name),
        Cell::text(&source.authorization.state.to_string()),
        Cell::maybe(source.authorization.authorized_at),
        Cell::text(&source.sync.map(|state| state.to_string()).unwrap_or_default()),
        Cell::maybe(source.synced_at),
        Cell::text(&missing.join("; ")),
    ]
}

fn sync(listed: &ListedJob, root: &str) -> Vec<Cell> {
    let job = &listed.job;
    vec![
        Cell::link(&job.id, &format!("{root}/kept/syncs/{}", job.id)),
        Cell::text(&listed.endpoint),
        Cell::text(&job.state.to_string()),
        Cell::time(job.created_at),
        Cell::number(listed.report.records()),
    ]
}
