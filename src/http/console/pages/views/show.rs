//! Shows the page of a view, and returns its rows as files.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use super::ask::{Ask, Wanted};
use super::chart::{Drawn, chart};
use super::examples;
use super::preview::{PATIENCE, Preview, Rows, planned, preview};
use crate::fhir::facts;
use crate::http::console::session::form::Fields;
use crate::http::console::session::next;
use crate::http::console::session::operator::Operator;
use crate::http::console::shown::page::{Frame, failed, html, page_or_error, private};
use crate::http::console::shown::tenant::Tenant;
use crate::http::console::shown::words;
use crate::http::error::Error;
use crate::http::fhir::view::body as rows_body;
use crate::http::server::request_id::RequestId;
use crate::http::service::Service;
use crate::views::{Checked, Column, Finding, Format, View};

/// The maximum number of rows that the page shows.
const SHOWN: usize = 50;
/// The maximum number of rows for a plot.
const DRAWN: usize = 20_000;

#[derive(Template)]
#[template(path = "console/views.html")]
struct Page<'a> {
    frame: &'a Frame,
    definition: &'a str,
    wanted: &'a Wanted,
    /// The names of the examples, and whether each is in the editor.
    examples: Vec<(&'static str, bool)>,
    link: String,
    /// Whether the link is longer than this server accepts.
    is_long: bool,
    findings: Vec<Said>,
    columns: Vec<Shown>,
    problem: Option<String>,
    result: Option<Outcome>,
}

/// A finding about the definition.
struct Said {
    kind: &'static str,
    at: String,
    place: Option<String>,
    problem: String,
}

struct Shown {
    name: String,
    fhir_type: String,
    sql: String,
    is_collection: bool,
}

/// The result of running the view.
struct Outcome {
    rows: Rows,
    /// The number of rows that were read.
    count: usize,
    /// The same number, for people.
    counted: String,
    more: bool,
    took: String,
    files: String,
    read: String,
    leaves: Vec<(String, String)>,
    plan: String,
    plot: Option<Result<Drawn, String>>,
}

/// Answers GET: shows the editor. If the link has a definition, also shows its result.
pub(in crate::http::console) async fn open(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application)): Path<(String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "views", place.as_ref().ok());
    let work = async {
        let place = place?;
        let fields = Fields::of_query(sent.as_deref());
        match Ask::of_link(&fields)? {
            Some(ask) => answered(&service, &operator, &frame, &place, &ask).await,
            None => {
                let ask = Ask::begin(fields.filled("example"))?;
                let checked = View::check_with(ask.definition.as_bytes(), Some(service.terminology.clone()));
                Ok(page(&service, &frame, &place, &ask, (&checked, None, None)))
            }
        }
    };
    page_or_error(&frame, work).await
}

#[derive(Template)]
#[template(path = "console/over.html")]
struct Over<'a> {
    frame: &'a Frame,
    definition: &'a str,
    next: Option<String>,
}

/// Answers a form that was sent after the session had ended. The page keeps the definition and links to sign-in. If the
/// definition is short enough for a link, it opens after sign-in.
async fn over(service: &Arc<Service>, path: &str, headers: &HeaderMap, sent: Body) -> Response {
    let frame = Frame::outside(service);
    match Fields::of_body(service, headers, sent).await {
        Ok(fields) => {
            let ask = Ask::of_form(&fields);
            let link = || next::checked(service, &format!("{}/views/{path}?{}", frame.root, ask.query()));
            let page = Over {
                frame: &frame,
                definition: &ask.definition,
                next: if ask.fits_link() { link() } else { None },
            };
            html(StatusCode::UNAUTHORIZED, &page)
        }
        Err(error) => failed(&frame, error),
    }
}

/// Answers POST: runs the definition in the editor.
pub(in crate::http::console) async fn run(
    State(service): State<Arc<Service>>,
    operator: Result<Operator, Response>,
    Path((mode, application)): Path<(String, String)>,
    headers: HeaderMap,
    sent: Body,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let (operator, place) = match (operator, place) {
        (Err(refused), Ok(place)) if refused.status() == StatusCode::UNAUTHORIZED => {
            return over(&service, &place.path, &headers, sent).await;
        }
        (Err(refused), _) => return refused,
        (Ok(operator), place) => (operator, place),
    };
    let frame = operator.frame(&service, "views", place.as_ref().ok());
    let work = async {
        let place = place?;
        let fields = Fields::sent_by(&operator, &service, &headers, sent).await?;
        answered(&service, &operator, &frame, &place, &Ask::of_form(&fields)).await
    };
    page_or_error(&frame, work).await
}

async fn answered(
    service: &Arc<Service>,
    operator: &Operator,
    frame: &Frame,
    place: &Tenant,
    ask: &Ask,
) -> Result<Response, Error> {
    let checked = View::check_with(ask.definition.as_bytes(), Some(service.terminology.clone()));
    let Some(view) = checked.view().cloned() else {
        return Ok(page(service, frame, place, ask, (&checked, None, None)));
    };
    let about = facts().get(view.resource()).name.to_owned();
    operator.looks(service, "view", place, (None, about)).await?;
    let limit = if ask.plot.kind.is_empty() { SHOWN } else { DRAWN };
    match preview(service, place, Arc::new(view), limit).await {
        Ok(preview) => {
            let result = result(service, preview, &ask.plot, limit).await?;
            Ok(page(service, frame, place, ask, (&checked, Some(result), None)))
        }
        // Show a problem of running the view beside the view.
        Err(error) if error.status().is_client_error() => {
            let problem = error.to_string();
            Ok(page(service, frame, place, ask, (&checked, None, Some(problem))))
        }
        Err(error) => Err(error),
    }
}

async fn result(service: &Arc<Service>, preview: Preview, wanted: &Wanted, limit: usize) -> Result<Outcome, Error> {
    let Preview {
        rows,
        report,
        plan,
        took,
    } = preview;
    let rows = Arc::new(rows);
    let plot = if wanted.kind.is_empty() {
        None
    } else {
        Some(drawn(service, wanted.clone(), rows.clone()).await?)
    };
    let count = rows.cells.len();
    let mut leaves: Vec<(&String, &u64)> = report.bytes_by_leaf.iter().collect();
    leaves.sort_by(|one, other| other.1.cmp(one.1));
    Ok(Outcome {
        count,
        counted: words::number(count as u64),
        more: count == limit,
        took: words::millis(took),
        files: format!("{} of {}", report.files - report.files_pruned, report.files),
        read: words::bytes(report.bytes()),
        leaves: leaves
            .into_iter()
            .map(|(leaf, bytes)| (leaf.clone(), words::bytes(*bytes)))
            .collect(),
        plan,
        plot,
        rows: Rows {
            names: rows.names.clone(),
            cells: rows.cells.iter().take(SHOWN).cloned().collect(),
        },
    })
}

/// Draws the plot, or returns the reason why there is none. Runs on a thread that may block, because drawing may take
/// long.
async fn drawn(service: &Arc<Service>, wanted: Wanted, rows: Arc<Rows>) -> Result<Result<Drawn, String>, Error> {
    let drawing = service.blocking(move |_| chart(&wanted, &rows));
    match tokio::time::timeout(PATIENCE, drawing).await {
        Ok(drawn) => drawn,
        Err(_) => Ok(Err("it took longer than 15 s to draw".to_owned())),
    }
}

fn page(
    service: &Service,
    frame: &Frame,
    place: &Tenant,
    ask: &Ask,
    (checked, result, problem): (&Checked, Option<Outcome>, Option<String>),
) -> Response {
    // Browsers send line breaks of forms as CR LF.
    let definition = ask.definition.replace("\r\n", "\n");
    let link = ask.query();
    let address = format!("{}/views/{}?{link}", frame.root, place.path);
    let page = Page {
        frame,
        definition: &ask.definition,
        wanted: &ask.plot,
        examples: examples::names()
            .map(|name| {
                (
                    name,
                    examples::get(name).is_some_and(|text| text.trim_end() == definition.trim_end()),
                )
            })
            .collect(),
        is_long: address.len() + "&format=parquet/rows".len() > service.limits.url,
        link,
        // As `tabularium run`, the page says nothing of columns without a type. `validate-view` does.
        findings: checked
            .findings()
            .iter()
            .filter(|finding| finding.is_error() || finding.is_about_rows())
            .map(said)
            .collect(),
        columns: checked.columns().iter().map(column).collect(),
        problem,
        result,
    };
    html(StatusCode::OK, &page)
}

fn said(finding: &Finding) -> Said {
    Said {
        kind: if finding.is_error() { "error" } else { "warning" },
        at: finding.at.clone(),
        place: finding.position.as_ref().map(ToString::to_string),
        problem: match &finding.column {
            Some(column) => format!("column '{column}': {}", finding.problem),
            None => finding.problem.clone(),
        },
    }
}

fn column(column: &Column) -> Shown {
    Shown {
        name: column.name.clone(),
        fhir_type: column.fhir_type.clone().unwrap_or_default(),
        sql: column.sql_type(),
        is_collection: column.collection,
    }
}

/// Answers GET with all rows of a view, as CSV or Parquet.
pub(in crate::http::console) async fn rows(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application)): Path<(String, String)>,
    RawQuery(sent): RawQuery,
    id: RequestId,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "views", place.as_ref().ok());
    let work = async {
        let place = place?;
        let fields = Fields::of_query(sent.as_deref());
        let (format, ending) = match fields.filled("format") {
            Some("parquet") => (Format::Parquet, "parquet"),
            Some("csv") | None => (Format::Csv { header: true }, "csv"),
            Some(_) => return Err(Error::Invalid("rows come as csv or parquet".to_owned())),
        };
        let ask = Ask::of_link(&fields)?.ok_or_else(|| Error::Invalid("the link brings no definition".to_owned()))?;
        let checked = View::check_with(ask.definition.as_bytes(), Some(service.terminology.clone()));
        let view = checked.into_view().map_err(Error::Faulty)?;
        let about = facts().get(view.resource()).name.to_owned();
        operator.looks(&service, "rows", &place, (None, about)).await?;
        let name = view.name().unwrap_or("view").to_owned();
        let turn = service.view_turn("console").await?;
        let run = planned(&service, &place, Arc::new(view), None).await?;
        let (rows, stop) = (run.rows().within(service.view_room.clone()), run.stop());
        let around = (Vec::new(), Vec::new);
        let body = rows_body::stream(rows, stop, format, around, (turn, id)).await?;
        let mut response = Response::new(body);
        private(&mut response);
        let head = response.headers_mut();
        head.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
        // A valid view's name has only these characters, so the filter drops nothing.
        let name: String = name
            .chars()
            .filter(|one| one.is_ascii_alphanumeric() || *one == '_')
            .collect();
        if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}.{ending}\"")) {
            head.insert(CONTENT_DISPOSITION, value);
        }
        Ok(response)
    };
    page_or_error(&frame, work).await
}
