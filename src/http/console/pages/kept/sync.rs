//! Shows a sync: its state, the records that it brought, what normalization did, and what is missing.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::one::{One, Table};
use crate::consent::{AttachmentCounts, ListedJob};
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::error::Error;
use crate::http::service::Service;

/// Answers `GET /console/kept/syncs/{id}`.
pub(in crate::http::console) async fn sync(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(id): Path<String>,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        let reading = {
            let id = id.clone();
            service.blocking(move |service| service.store.jobs().beginning(&id, 1))
        };
        let found = reading.await?.map_err(Error::internal)?;
        let listed = found.into_iter().find(|listed| listed.job.id == id);
        let listed = listed.ok_or_else(|| Error::Unknown("there is no such sync".to_owned()))?;
        Ok(html(StatusCode::OK, &page(&frame, listed)))
    };
    page_or_error(&frame, work).await
}

fn page(frame: &Frame, listed: ListedJob) -> One<'_> {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    let missing = report.missing.iter().map(|missing| {
        let status = missing.status.map(|status| status.to_string());
        vec![
            Cell::text(&missing.resource_type),
            Cell::text(missing.part.as_deref().unwrap_or_default()),
            Cell::text(&missing.detail),
            Cell::text(&status.unwrap_or_default()),
            missing.records.map_or_else(|| Cell::text(""), Cell::number),
        ]
    });
    let counts = report.counts.iter();
    let counts = counts.map(|(resource_type, records)| vec![Cell::text(resource_type), Cell::number(*records)]);
    let rules = report.rules.iter().map(|(rule, did)| {
        let numbers = [did.made, did.changed, did.left, did.dangling].map(Cell::number);
        std::iter::once(Cell::text(rule)).chain(numbers).collect()
    });
    let missing = Table {
        id: "missing",
        heading: "What is missing",
        columns: vec!["Type", "Part", "Reason", "Status", "Records"],
        texts: 4,
        rows: missing.collect(),
        note: match (report.missing.is_empty(), job.state.is_open()) {
            (true, true) => "The sync is not over.",
            (true, false) => "Nothing.",
            (false, _) => "",
        }
        .to_owned(),
    };
    let counts = Table {
        id: "records",
        heading: "Records",
        columns: vec!["Type", "Records"],
        texts: 1,
        rows: counts.collect(),
        note: String::new(),
    };
    let rules = Table {
        id: "rules",
        heading: "Rules of normalization",
        columns: vec!["Rule", "Made", "Changed", "Left", "Dangling"],
        texts: 1,
        rows: rules.collect(),
        note: String::new(),
    };
    let filled = [counts, rules].into_iter().filter(|table| !table.rows.is_empty());
    let attachments = report.attachments.and_then(AttachmentCounts::told);
    let mut facts = vec![
        ("Source", Cell::text(&endpoint)),
        (
            "Consent",
            Cell::link(&consent, &format!("{}/kept/consents/{consent}", frame.root)),
        ),
        ("Cause", Cell::text(&job.cause)),
        ("State", Cell::text(job.state.name())),
        ("Attempts", Cell::number(job.attempts)),
        ("Made", Cell::time(job.created_at)),
        ("Begun", Cell::maybe(job.started_at)),
        ("Ended", Cell::maybe(job.finished_at)),
        ("Authorization", Cell::text(&job.authorization)),
        ("Attachments", Cell::text(&attachments.unwrap_or_default())),
    ];
    facts.retain(|(_, cell)| !cell.html.is_empty());
    One {
        frame,
        kind: "Sync",
        id: job.id,
        list: ("syncs", "Syncs"),
        facts,
        failure: job.failure,
        tables: std::iter::once(missing).chain(filled).collect(),
    }
}
