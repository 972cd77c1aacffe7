//! Shows a sync: its state, the records that it brought, what normalization did, and what is missing.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::consent::{AttachmentCounts, ListedJob};
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::error::Error;
use crate::http::service::Service;

#[derive(Template)]
#[template(path = "console/sync.html")]
struct Page<'a> {
    frame: &'a Frame,
    id: String,
    facts: Vec<(&'static str, Cell)>,
    failure: Option<String>,
    attachments: Option<String>,
    counts: Vec<[Cell; 2]>,
    rules: Vec<[Cell; 5]>,
    missing: Vec<[Cell; 5]>,
    /// Whether the sync has ended.
    is_over: bool,
}

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

fn page(frame: &Frame, listed: ListedJob) -> Page<'_> {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    let missing = report.missing.iter().map(|missing| {
        [
            Cell::text(&missing.resource_type),
            Cell::text(missing.part.as_deref().unwrap_or_default()),
            Cell::text(&missing.detail),
            missing
                .status
                .map_or_else(|| Cell::text(""), |status| Cell::text(&status.to_string())),
            missing.records.map_or_else(|| Cell::text(""), Cell::number),
        ]
    });
    let rules = report.rules.iter().map(|(rule, did)| {
        [
            Cell::text(rule),
            Cell::number(did.made),
            Cell::number(did.changed),
            Cell::number(did.left),
            Cell::number(did.dangling),
        ]
    });
    let counts = report.counts.iter();
    let counts = counts.map(|(resource_type, records)| [Cell::text(resource_type), Cell::number(*records)]);
    Page {
        facts: vec![
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
        ],
        attachments: report.attachments.and_then(AttachmentCounts::told),
        counts: counts.collect(),
        rules: rules.collect(),
        missing: missing.collect(),
        is_over: !job.state.is_open(),
        failure: job.failure,
        id: job.id,
        frame,
    }
}
