//! Shows a list of data other than records.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::webhooks;
use crate::consent::{
    Application, AuditEntry, ConsentFilter, ConsentWithSources, Endpoint, ErasureJob, Error as StoreError, ListedJob,
    Store, receipt_digest,
};
use crate::http::console::pages::table::encoded;
use crate::http::console::session::form::Fields;
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::cell::Cell;
use crate::http::console::shown::page::{Frame, html, page_or_error};
use crate::http::console::shown::words;
use crate::http::console::slow::SlowRequest;
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
    first: u64,
    last: u64,
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
            first: skipped as u64 + 1,
            last: (skipped + rows.len()) as u64,
            is_more,
        };
        (part, rows)
    }

    /// Says which rows the page shows.
    fn said(&self) -> String {
        match (self.is_more, self.number, self.last) {
            (false, 1, 1) => "1 row".to_owned(),
            (false, 1, last) => format!("{} rows", words::number(last)),
            (is_more, _, last) => {
                let end = if is_more { "; more follow." } else { ", the last ones." };
                format!("Rows {} to {}{end}", words::number(self.first), words::number(last))
            }
        }
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

/// A list that the page can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Syncs,
    Endpoints,
    Applications,
    Consents,
    Erasures,
    Receivers,
    Deliveries,
    Audit,
    Slow,
}

const LISTS: [(List, &str, &str); 9] = [
    (List::Syncs, "syncs", "Syncs"),
    (List::Endpoints, "endpoints", "Endpoints"),
    (List::Applications, "applications", "Applications"),
    (List::Consents, "consents", "Consents"),
    (List::Erasures, "erasures", "Erasures"),
    (List::Receivers, "webhooks", "Webhooks"),
    (List::Deliveries, "deliveries", "Deliveries"),
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
        let shown = frame.clone();
        let reading = service.blocking(move |service| match list {
            List::Slow => Ok(slow(service)),
            // Read one row more than the list has up to the end of this page, to know whether there is another page.
            list => list.rows(&service.store, &shown, (number * SHOWN + 1) as u32),
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

impl List {
    fn about(self) -> &'static str {
        match self {
            List::Syncs => "The syncs of patients' sources, newest first. Each has a page of its own.",
            List::Endpoints => "The sources that patients can connect.",
            List::Applications => "Who may ask patients for their records.",
            List::Consents => "What patients have consented to, newest first.",
            List::Erasures => "Erasures, newest first, each with the digest of its receipt.",
            List::Receivers => "Where applications are told what happens to their consents.",
            List::Deliveries => {
                "The webhooks of the last 30 days, newest first. A message that is sent again has the same id as before."
            }
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
            List::Receivers => webhooks::RECEIVER_COLUMNS.to_vec(),
            List::Deliveries => webhooks::DELIVERY_COLUMNS.to_vec(),
            List::Audit => vec!["At", "By", "What", "Application", "Consent", "Detail"],
            List::Slow => vec!["Took", "When", "Method", "Route", "Status", "Request"],
        }
    }

    /// Returns the first `wanted` rows of the list. Returns all rows of some lists, because the store can only read
    /// these lists completely. The slow requests are not in the store, so this returns no rows for them.
    fn rows(self, store: &Store, frame: &Frame, wanted: u32) -> Result<Vec<Vec<Cell>>, StoreError> {
        let root = frame.root.as_str();
        let filter = ConsentFilter {
            limit: wanted,
            ..ConsentFilter::default()
        };
        Ok(match self {
            List::Syncs => {
                let jobs = store.jobs().list(None, wanted)?;
                jobs.iter().map(|job| sync(job, root)).collect()
            }
            List::Endpoints => store.endpoints().all(None)?.iter().map(endpoint).collect(),
            List::Applications => {
                let applications = store.applications().all()?;
                applications.iter().map(|one| application(one, root)).collect()
            }
            List::Consents => {
                let consents = store.consents().list(&filter)?;
                consents.iter().map(|one| consent(one, root)).collect()
            }
            List::Erasures => {
                let jobs = store.erasure_jobs().list(None, wanted)?;
                jobs.iter().map(|job| erasure(job, root)).collect()
            }
            List::Receivers => webhooks::receivers(store, frame)?,
            List::Deliveries => webhooks::deliveries(store, frame, wanted)?,
            List::Audit => {
                let entries = store.audit().newest(None, wanted)?;
                entries.iter().map(|entry| audit(entry, root)).collect()
            }
            List::Slow => Vec::new(),
        })
    }
}

fn sync(listed: &ListedJob, root: &str) -> Vec<Cell> {
    let ListedJob {
        job,
        consent,
        endpoint,
        report,
    } = listed;
    let missing: Vec<String> = report.missing.iter().map(|missing| missing.line()).collect();
    vec![
        Cell::link(&job.id, &format!("{root}/kept/syncs/{}", job.id)),
        Cell::text(endpoint),
        Cell::text(&job.cause),
        Cell::text(job.state.name()),
        Cell::time(job.created_at),
        Cell::number(job.attempts),
        Cell::number(report.records()),
        Cell::text(&missing.join("; ")),
        Cell::link(consent, &format!("{root}/kept/consents/{consent}")),
    ]
}

fn endpoint(endpoint: &Endpoint) -> Vec<Cell> {
    vec![
        Cell::text(&endpoint.name),
        Cell::text(&endpoint.organization.name),
        Cell::text(endpoint.mode.schema()),
        Cell::text(&endpoint.authorization_type.to_string()),
        Cell::text(&endpoint.status.to_string()),
        Cell::text(&endpoint.fhir_base),
        Cell::maybe(endpoint.checked_at),
    ]
}

fn application(application: &Application, root: &str) -> Vec<Cell> {
    let keys = |mode| {
        let good = application
            .keys
            .iter()
            .filter(|key| key.mode == mode && key.retired_at.is_none());
        Cell::number(good.count() as u64)
    };
    let id = encoded(&application.id);
    vec![
        Cell::link(&application.id, &format!("{root}?application={id}")),
        Cell::text(&application.name),
        Cell::time(application.created_at),
        keys(crate::lake::Mode::Live),
        keys(crate::lake::Mode::Test),
        Cell::text(&application.redirect_uris.join(" ")),
        Cell::text(&application.sync_frequency.to_string()),
    ]
}

fn consent(full_consent: &ConsentWithSources, root: &str) -> Vec<Cell> {
    let consent = &full_consent.consent;
    let sources = full_consent.sources.iter().map(|source| {
        let sync = source.sync.map(|state| format!(", sync {state}")).unwrap_or_default();
        format!("{} ({}{sync})", source.endpoint.name, source.authorization.state)
    });
    vec![
        Cell::link(&consent.id, &format!("{root}/kept/consents/{}", consent.id)),
        Cell::text(&consent.application),
        Cell::text(consent.mode.schema()),
        Cell::text(&consent.state.to_string()),
        Cell::time(consent.created_at),
        Cell::text(&sources.collect::<Vec<_>>().join("; ")),
    ]
}

fn erasure(job: &ErasureJob, root: &str) -> Vec<Cell> {
    let digest = job.receipt.as_deref().map(receipt_digest);
    vec![
        Cell::link(&job.id, &format!("{root}/kept/erasures/{}", job.id)),
        Cell::text(&job.application),
        Cell::text(job.mode.schema()),
        Cell::text(&job.cause.to_string()),
        Cell::time(job.asked_at),
        Cell::maybe(job.done_at),
        Cell::text(digest.as_deref().unwrap_or("not yet")),
    ]
}

fn audit(entry: &AuditEntry, root: &str) -> Vec<Cell> {
    let (operator, detail) = operator_in(&entry.action, &entry.detail);
    let by = match operator {
        Some(name) if name != entry.actor.to_string() => format!("{} {name}", entry.actor),
        _ => entry.actor.to_string(),
    };
    vec![
        Cell::time(entry.at),
        Cell::text(&by),
        Cell::text(&entry.action),
        Cell::text(entry.application.as_deref().unwrap_or_default()),
        match &entry.consent {
            Some(consent) => Cell::link(consent, &format!("{root}/kept/consents/{consent}")),
            None => Cell::text(""),
        },
        Cell::text(&detail),
    ]
}

/// Separates the operator's name from the detail of an entry of the console. The list shows the name in a column of its
/// own.
fn operator_in<'d>(action: &str, detail: &'d str) -> (Option<&'d str>, String) {
    let found = match action {
        "console.sign_in" | "console.sign_out" => detail.strip_prefix("by ").map(|name| (name, String::new())),
        "console.look" => detail.split_once(" by ").and_then(|(page, rest)| {
            // The name may have a colon, and the text after it has none.
            let (name, what) = rest.rsplit_once(": ")?;
            Some((name, format!("{page}: {what}")))
        }),
        _ => None,
    };
    match found {
        Some((name, detail)) => (Some(name), detail),
        None => (None, detail.to_owned()),
    }
}

fn slow(service: &Service) -> Vec<Vec<Cell>> {
    let slowest = service.slow.slowest();
    let row = |slow: &SlowRequest| {
        vec![
            Cell::text(&words::millis(slow.took)),
            Cell::text(&words::ago(slow.at.elapsed())),
            Cell::text(slow.method.as_str()),
            Cell::text(&slow.route),
            Cell::text(slow.status.as_str()),
            Cell::text(&slow.id),
        ]
    };
    slowest.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_name_is_not_said_twice() {
        for (action, detail, expected) in [
            (
                "console.look",
                "patient by ada: live person 0f",
                (Some("ada"), "patient: live person 0f"),
            ),
            (
                "console.look",
                "table by ada: by day: test Patient",
                (Some("ada: by day"), "table: test Patient"),
            ),
            ("console.sign_in", "by ada", (Some("ada"), "")),
            ("console.token", "for ada", (None, "for ada")),
            ("consent.created", "asked by ada: x", (None, "asked by ada: x")),
        ] {
            let (name, told) = operator_in(action, detail);
            assert_eq!((name, told.as_str()), expected, "{action} {detail}");
        }
    }
}
