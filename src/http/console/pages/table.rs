//! Shows the resources of a type that a search finds. The page has the search in a form. Links in the engine's
//! response lead to the other pages.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::label::Label;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
use super::super::shown::words::{self, Moment};
use crate::fhir::{TypeId, facts};
use crate::http::error::Error;
use crate::http::fhir::resource_type::resource_type;
use crate::http::service::Service;
use crate::search::raw;
use crate::search::{Handling, Request};

/// The default query: the first page of all resources of the type.
const FIRST: &str = "_count=50";

#[derive(Template)]
#[template(path = "console/table.html")]
struct Table<'a> {
    frame: &'a Frame,
    name: &'a str,
    query: &'a str,
    encoded: String,
    refusal: Option<String>,
    rows: Vec<Row>,
    /// The columns that have a value in a row. Other columns are not shown.
    has: Columns,
    /// The number of rows.
    count: String,
    total: Option<String>,
    is_count: bool,
    took: String,
    links: Vec<(&'static str, String)>,
    parameters: Vec<Parameter>,
}

/// Which columns of the table have a value.
struct Columns {
    value: bool,
    born: bool,
    gender: bool,
    when: bool,
    status: bool,
    patient: bool,
}

impl Columns {
    fn of(rows: &[Row]) -> Columns {
        let any = |text: fn(&Label) -> &str| rows.iter().any(|row| !text(&row.label).is_empty());
        Columns {
            value: any(|label| &label.value),
            born: any(|label| &label.born),
            gender: any(|label| &label.gender),
            when: any(|label| &label.when),
            status: any(|label| &label.status),
            patient: any(|label| label.patient().unwrap_or_default()),
        }
    }
}

/// A resource in the table.
pub(super) struct Row {
    pub(super) resource_type: String,
    pub(super) id: String,
    pub(super) label: Label,
    pub(super) updated: Moment,
    /// Whether the resource is an include, not a match.
    pub(super) is_included: bool,
}

impl Row {
    /// Whether the resource is a Patient. Its row leads to the person's page.
    pub(super) fn is_person(&self) -> bool {
        self.resource_type == "Patient"
    }
}

struct Parameter {
    code: String,
    search_type: String,
}

/// The result of a search.
struct Found {
    rows: Vec<Row>,
    total: Option<u64>,
    links: Vec<(&'static str, String)>,
    took: std::time::Duration,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application, name)): Path<(String, String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "stored", place.as_ref().ok());
    let work = async {
        let place = place?;
        let type_id = resource_type(&name)?;
        let fields = Fields::of_query(sent.as_deref());
        let query = fields
            .get("q")
            .unwrap_or(FIRST)
            .trim()
            .trim_start_matches('?')
            .to_owned();
        looks(&service, &operator, "table", &place, (type_id, &query)).await?;
        let found = match search(&service, &place, type_id, &query).await {
            // Show an error of the search beside its form, where the operator can correct it.
            Err(error) if error.status().is_client_error() => Err(error.to_string()),
            Err(error) => return Err(error),
            Ok(found) => Ok(found),
        };
        Ok(rendered(&service, &frame, (type_id, &name), &query, found))
    };
    page_or_error(&frame, work).await
}

fn rendered(
    service: &Service,
    frame: &Frame,
    (type_id, name): (TypeId, &str),
    query: &str,
    found: Result<Found, String>,
) -> Response {
    let (found, refusal) = match found {
        Ok(found) => (Some(found), None),
        Err(refusal) => (None, Some(refusal)),
    };
    let status = match refusal {
        Some(_) => StatusCode::BAD_REQUEST,
        None => StatusCode::OK,
    };
    let mut parameters: Vec<Parameter> = service
        .engine
        .supported(type_id)
        .map(|parameter| Parameter {
            code: parameter.code.to_string(),
            search_type: format!("{:?}", parameter.search_type).to_lowercase(),
        })
        .collect();
    parameters.sort_by(|one, other| one.code.cmp(&other.code));
    let page = Table {
        frame,
        name,
        query,
        encoded: encoded(query),
        refusal,
        total: found.as_ref().and_then(|found| found.total).map(words::number),
        is_count: query.contains("_summary=count"),
        took: found
            .as_ref()
            .map(|found| words::millis(found.took))
            .unwrap_or_default(),
        links: found.as_ref().map(|found| found.links.clone()).unwrap_or_default(),
        count: words::number(found.as_ref().map_or(0, |found| found.rows.len() as u64)),
        has: Columns::of(found.as_ref().map(|found| found.rows.as_slice()).unwrap_or_default()),
        rows: found.map(|found| found.rows).unwrap_or_default(),
        parameters,
    };
    html(status, &page)
}

/// Encodes a value for a query.
pub(in crate::http::console) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Logs that an operator looks at the results of a search. If the search is restricted to one patient, the entry is
/// about this patient. If not, it is about the resource type.
pub(in crate::http::console) async fn looks(
    service: &Arc<Service>,
    operator: &Operator,
    page: &'static str,
    place: &Tenant,
    (type_id, query): (TypeId, &str),
) -> Result<(), Error> {
    // An invalid query shows no resources. So if the query is invalid, log the entry as if there were no parameters.
    let parameters = raw::parse_checked(query).unwrap_or_default();
    let binding = {
        let (service, scope) = (service.clone(), place.scope());
        async move {
            let request = Request {
                scope: &scope,
                type_id,
                compartment: None,
                parameters: &parameters,
                handling: Handling::Strict,
                now: service.store.clock().now() * 1_000_000,
                base: &service.fhir_base,
            };
            service.engine.only_patient(&request)
        }
    };
    match service.workers.run(binding).await? {
        Some(patient) => operator.looks_at(service, page, place, &patient).await,
        None => {
            let name = facts().get(type_id).name.to_owned();
            operator.looks(service, page, place, (None, name)).await
        }
    }
}

async fn search(service: &Arc<Service>, place: &Tenant, type_id: TypeId, query: &str) -> Result<Found, Error> {
    let parameters = raw::parse_checked(query)?;
    let turn = service.search_turn("console").await?;
    let scope = place.scope();
    let started = std::time::Instant::now();
    let served = service.clone();
    let searching = |stop| {
        let (service, engine) = (served.clone(), served.engine.until(stop));
        async move {
            let _turn = turn;
            let request = Request {
                scope: &scope,
                type_id,
                compartment: None,
                parameters: &parameters,
                handling: Handling::Strict,
                now: service.store.clock().now() * 1_000_000,
                base: &service.fhir_base,
            };
            engine.search(&request).await
        }
    };
    let bundle = service.workers.run_until(searching).await??;
    let took = started.elapsed();
    let bundle: Value = serde_json::from_slice(&bundle).map_err(Error::internal)?;
    let entries = bundle["entry"].as_array().into_iter().flatten();
    Ok(Found {
        rows: entries.filter_map(row).collect(),
        total: bundle["total"].as_u64(),
        links: links(&bundle),
        took,
    })
}

/// Returns the links of a Bundle to other pages: the text and the encoded query of each.
pub(super) fn links(bundle: &Value) -> Vec<(&'static str, String)> {
    let link = |relation: &'static str, text: &'static str| {
        let links = bundle["link"].as_array().into_iter().flatten();
        let mut of_relation = links.filter(|link| link["relation"] == relation);
        let query = of_relation.next()?["url"].as_str()?.split_once('?')?.1;
        Some((text, encoded(query)))
    };
    let links = [
        ("first", "First page"),
        ("previous", "Previous page"),
        ("next", "Next page"),
    ];
    links
        .into_iter()
        .filter_map(|(relation, text)| link(relation, text))
        .collect()
}

/// Returns the table row for an entry of a Bundle. `None` for an OperationOutcome.
pub(super) fn row(entry: &Value) -> Option<Row> {
    let mode = entry["search"]["mode"].as_str().unwrap_or("match");
    let resource = &entry["resource"];
    (mode != "outcome").then(|| Row {
        resource_type: resource["resourceType"].as_str().unwrap_or_default().to_owned(),
        id: resource["id"].as_str().unwrap_or_default().to_owned(),
        label: Label::of(resource),
        updated: Moment::parse(resource["meta"]["lastUpdated"].as_str().unwrap_or_default()),
        is_included: mode == "include",
    })
}
