//! Shows lists of data other than records: syncs, endpoints, applications, consents, erasures with their receipts,
//! the audit log, and slow requests.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::words;
use crate::columns::json::pretty;
use crate::consent::{
    Application, AuditEntry, ConsentFilter, ConsentWithSources, Endpoint, ErasureJob, Error as StoreError, ListedJob,
    Store, receipt_digest,
};
use crate::http::error::Error;
use crate::http::service::Service;

/// The maximum number of rows on a page.
const SHOWN: usize = 200;
/// The maximum number of pages of a list, because the store always reads a list from its beginning.
const PAGES: usize = 50;

#[derive(Template)]
#[template(path = "console/kept.html")]
struct Page<'a> {
    frame: &'a Frame,
    lists: Vec<(&'static str, &'static str, bool)>,
    heading: &'static str,
    about: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    part: Part,
}

/// The part of a list that a page shows.
struct Part {
    path: &'static str,
    /// The number of the page, counted from 1.
    number: usize,
    /// The numbers of the page's first and last row, counted from 1.
    first: usize,
    last: usize,
    is_more: bool,
}

impl Part {
    /// Cuts a page out of a list. `rows` begin with the first row of the list. They may go on after the last row of the
    /// page.
    fn cut(path: &'static str, number: usize, mut rows: Vec<Vec<Cell>>) -> (Part, Vec<Vec<Cell>>) {
        let skipped = (number - 1) * SHOWN;
        rows.drain(..skipped.min(rows.len()));
        let is_more = rows.len() > SHOWN;
        rows.truncate(SHOWN);
        let part = Part {
            path,
            number,
            first: skipped + 1,
            last: skipped + rows.len(),
            is_more,
        };
        (part, rows)
    }

    /// Returns the number of the previous page, if there is one.
    fn before(&self) -> Option<usize> {
        (self.number > 1).then(|| self.number - 1)
    }

    /// Returns the number of the next page, if there is one.
    fn after(&self) -> Option<usize> {
        (self.is_more && self.number < PAGES).then(|| self.number + 1)
    }
}

#[derive(Template)]
#[template(path = "console/receipt.html")]
struct Receipt<'a> {
    frame: &'a Frame,
    id: String,
    asked: String,
    how: String,
    digest: Option<String>,
    receipt: Option<String>,
    claims: String,
}

/// A cell of a list, and the URL to which it links.
struct Cell {
    text: String,
    link: Option<String>,
}

/// A list that the page can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Syncs,
    Endpoints,
    Applications,
    Consents,
    Erasures,
    Audit,
    Slow,
}

const LISTS: [(List, &str, &str); 7] = [
    (List::Syncs, "syncs", "Syncs"),
    (List::Endpoints, "endpoints", "Endpoints"),
    (List::Applications, "applications", "Applications"),
    (List::Consents, "consents", "Consents"),
    (List::Erasures, "erasures", "Erasures"),
    (List::Audit, "audit", "Audit log"),
    (List::Slow, "slow", "Slow requests"),
];

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(name): Path<String>,
    RawQuery(sent): RawQuery,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        let number = numbered(&Fields::of_query(sent.as_deref()))?;
        let found = LISTS.iter().find(|(_, one, _)| *one == name);
        let Some(&(list, path, heading)) = found else {
            return Err(Error::Unknown("there is no such list".to_owned()));
        };
        let root = frame.root.clone();
        let reading = service.blocking(move |service| match list {
            List::Slow => Ok(slow(service)),
            // Read one row more than the list has up to the end of this page, to know whether there is another page.
            list => list.rows(&service.store, &root, (number * SHOWN + 1) as u32),
        });
        let (part, rows) = Part::cut(path, number, reading.await?.map_err(Error::internal)?);
        let page = Page {
            frame: &frame,
            lists: LISTS
                .iter()
                .map(|(one, path, heading)| (*path, *heading, *one == list))
                .collect(),
            heading,
            about: list.about(),
            columns: list.columns(),
            rows,
            part,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

/// Reads the number of the requested page, by default 1. An error if there is no such page.
fn numbered(fields: &Fields) -> Result<usize, Error> {
    let Some(text) = fields.filled("page") else {
        return Ok(1);
    };
    let number = text.parse().ok().filter(|number| (1..=PAGES).contains(number));
    number.ok_or_else(|| Error::Unknown(format!("there is no page {text}; a list has {PAGES} pages at most")))
}

/// Answers `GET /console/kept/erasures/{id}`: shows an erasure and its receipt.
pub(in crate::http::console) async fn receipt(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path(id): Path<String>,
) -> Response {
    let frame = operator.frame(&service, "kept", None);
    let work = async {
        let reading = service.blocking(move |service| service.store.erasure_jobs().get(&id));
        let job = reading.await?.map_err(Error::internal)?;
        let job = job.ok_or_else(|| Error::Unknown("there is no such erasure".to_owned()))?;
        let page = Receipt {
            frame: &frame,
            asked: words::time(job.asked_at),
            how: job.cause.to_string(),
            digest: job.receipt.as_deref().map(receipt_digest),
            claims: job.receipt.as_deref().and_then(claims).unwrap_or_default(),
            receipt: job.receipt,
            id: job.id,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

/// Decodes the content of a receipt to indented JSON. Does not check the signature: `tabularium receipt verify` does.
fn claims(receipt: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(receipt.trim().split('.').nth(1)?).ok()?;
    String::from_utf8(pretty(&payload)).ok()
}

impl List {
    fn about(self) -> &'static str {
        match self {
            List::Syncs => "The newest syncs of patients' sources. tabularium sync show tells all of one.",
            List::Endpoints => "The sources that patients can connect.",
            List::Applications => "Who may ask patients for their records.",
            List::Consents => "What patients have consented to, newest first.",
            List::Erasures => "Erasures, newest first, each with the digest of its receipt.",
            List::Audit => "What happened, newest first. People are named by their consents, or by a mark.",
            List::Slow => {
                "The newest 200 requests of this server whose answer took 200 ms or longer to begin, slowest first."
            }
        }
    }

    fn columns(self) -> Vec<&'static str> {
        match self {
            List::Syncs => vec![
                "Sync", "Source", "Cause", "State", "Made", "Attempts", "Records", "Missing", "Consent",
            ],
            List::Endpoints => vec![
                "Endpoint",
                "Organization",
                "Mode",
                "Type",
                "Status",
                "FHIR address",
                "Checked",
            ],
            List::Applications => vec![
                "Application",
                "Name",
                "Made",
                "Live keys",
                "Test keys",
                "Redirect URIs",
                "Syncs",
            ],
            List::Consents => vec!["Consent", "Application", "Mode", "State", "Made", "Sources"],
            List::Erasures => vec!["Erasure", "Application", "Mode", "How", "Asked", "Done", "Receipt"],
            List::Audit => vec!["At", "By", "What", "Application", "Consent", "Detail"],
            List::Slow => vec!["Took", "When", "Method", "Route", "Status", "Request"],
        }
    }

    /// Returns the first `wanted` rows of the list. Returns all rows of some lists, because the store can only read
    /// these lists completely. The slow requests are not in the store, so this returns no rows for them.
    fn rows(self, store: &Store, root: &str, wanted: u32) -> Result<Vec<Vec<Cell>>, StoreError> {
        let filter = ConsentFilter {
            limit: wanted,
            ..ConsentFilter::default()
        };
        Ok(match self {
            List::Syncs => store.jobs().list(None, wanted)?.iter().map(sync).collect(),
            List::Endpoints => store.endpoints().all(None)?.iter().map(endpoint).collect(),
            List::Applications => {
                let applications = store.applications().all()?;
                applications.iter().map(|one| application(one, root)).collect()
            }
            List::Consents => store.consents().list(&filter)?.iter().map(consent).collect(),
            List::Erasures => {
                let jobs = store.erasure_jobs().list(None, wanted)?;
                jobs.iter().map(|job| erasure(job, root)).collect()
            }
            List::Audit => store.audit().newest(None, wanted)?.iter().map(audit).collect(),
            List::Slow => Vec::new(),
        })
    }
}

fn cells<const N: usize>(texts: [String; N]) -> Vec<Cell> {
    texts.into_iter().map(|text| Cell { text, link: None }).collect()
}

fn maybe(seconds: Option<i64>) -> String {
    seconds.map(words::time).unwrap_or_default()
}

fn sync(listed: &ListedJob) -> Vec<Cell> {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    let records: u64 = report.counts.iter().map(|(_, records)| records).sum();
    let missing: Vec<String> = report.missing.iter().map(|missing| missing.line()).collect();
    cells([
        job.id.clone(),
        endpoint.clone(),
        job.cause.clone(),
        job.state.to_string(),
        words::time(job.created_at),
        job.attempts.to_string(),
        words::number(records),
        missing.join("; "),
        consent.clone(),
    ])
}

fn endpoint(endpoint: &Endpoint) -> Vec<Cell> {
    cells([
        endpoint.name.clone(),
        endpoint.organization.name.clone(),
        endpoint.mode.schema().to_owned(),
        endpoint.authorization_type.to_string(),
        endpoint.status.to_string(),
        endpoint.fhir_base.clone(),
        maybe(endpoint.checked_at),
    ])
}

fn application(application: &Application, root: &str) -> Vec<Cell> {
    let keys = |mode| {
        let good = application
            .keys
            .iter()
            .filter(|key| key.mode == mode && key.retired_at.is_none());
        good.count().to_string()
    };
    let mut cells = cells([
        application.id.clone(),
        application.name.clone(),
        words::time(application.created_at),
        keys(crate::lake::Mode::Live),
        keys(crate::lake::Mode::Test),
        application.redirect_uris.join(" "),
        application.sync_frequency.to_string(),
    ]);
    let id = super::table::encoded(&application.id);
    cells[0].link = Some(format!("{root}?application={id}"));
    cells
}

fn consent(full_consent: &ConsentWithSources) -> Vec<Cell> {
    let consent = &full_consent.consent;
    let sources = full_consent.sources.iter().map(|source| {
        let sync = source.sync.map(|state| format!(", sync {state}")).unwrap_or_default();
        format!("{} ({}{sync})", source.endpoint.name, source.authorization.state)
    });
    cells([
        consent.id.clone(),
        consent.application.clone(),
        consent.mode.schema().to_owned(),
        consent.state.to_string(),
        words::time(consent.created_at),
        sources.collect::<Vec<_>>().join("; "),
    ])
}

fn erasure(job: &ErasureJob, root: &str) -> Vec<Cell> {
    let digest = job.receipt.as_deref().map(receipt_digest);
    let mut cells = cells([
        job.id.clone(),
        job.application.clone(),
        job.mode.schema().to_owned(),
        job.cause.to_string(),
        words::time(job.asked_at),
        maybe(job.done_at),
        digest.unwrap_or_else(|| "not yet".to_owned()),
    ]);
    cells[0].link = Some(format!("{root}/kept/erasures/{}", job.id));
    cells
}

fn audit(entry: &AuditEntry) -> Vec<Cell> {
    cells([
        words::time(entry.at),
        entry.actor.to_string(),
        entry.action.clone(),
        entry.application.clone().unwrap_or_default(),
        entry.consent.clone().unwrap_or_default(),
        entry.detail.clone(),
    ])
}

fn slow(service: &Service) -> Vec<Vec<Cell>> {
    let slowest = service.slow.slowest();
    let row = |slow: &super::super::slow::SlowRequest| {
        cells([
            words::millis(slow.took),
            words::ago(slow.at.elapsed()),
            slow.method.to_string(),
            slow.route.to_string(),
            slow.status.as_u16().to_string(),
            slow.id.to_string(),
        ])
    };
    slowest.iter().map(row).collect()
}
