//! Tries a FHIRPath expression on the first resources of a type. Shows the type of each part of the expression, the
//! columns that it reads, and its results.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray};
use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use datafusion::catalog::TableProvider;
use datafusion::execution::context::SessionConfig;
use datafusion::execution::session_state::SessionStateBuilder;

use super::super::session::form::Fields;
use super::super::session::operator::Operator;
use super::super::shown::json::escape;
use super::super::shown::page::{Frame, html, page_or_error};
use super::super::shown::tenant::Tenant;
use super::super::shown::words;
use crate::fhir::storage::{EVERYTHING, TEXT};
use crate::fhir::{Kind, TypeId, facts};
use crate::fhirpath::{Collection, CompileOptions, Focus, Part, Program, Work, WorkBudget, typed};
use crate::http::error::Error;
use crate::http::fhir::resource_type::resource_type;
use crate::http::service::Service;
use crate::lake::scan::{FILE, ROW, ScanRequest};

/// The number of resources on which an expression is tried.
const TRIED: usize = 25;
/// How long a trial may take.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Template)]
#[template(path = "console/fhirpath.html")]
struct Page<'a> {
    frame: &'a Frame,
    name: &'a str,
    expression: &'a str,
    refusal: Option<String>,
    trial: Option<Trial>,
}

/// The result of a trial.
struct Trial {
    tree: String,
    leaves: Vec<String>,
    rows: Vec<Row>,
    took: String,
}

struct Row {
    id: String,
    items: Vec<(String, String)>,
    fault: Option<String>,
}

pub(in crate::http::console) async fn show(
    State(service): State<Arc<Service>>,
    operator: Operator,
    Path((mode, application)): Path<(String, String)>,
    RawQuery(sent): RawQuery,
) -> Response {
    let place = Tenant::parse(&mode, &application);
    let frame = operator.frame(&service, "fhirpath", place.as_ref().ok());
    let work = async {
        let place = place?;
        let fields = Fields::of_query(sent.as_deref());
        let name = fields.filled("type").unwrap_or_default();
        let expression = fields.filled("expression").unwrap_or_default();
        let (mut trial, mut refusal) = (None, None);
        if !name.is_empty() && !expression.is_empty() {
            // Log `name` only if it is the name of a type. Any other text may be a part of a patient's record.
            if resource_type(name).is_ok() {
                operator
                    .looks(&service, "fhirpath", &place, (None, name.to_owned()))
                    .await?;
            }
            match tried(&service, &place, name, expression).await {
                Ok(found) => trial = Some(found),
                Err(error) if error.status().is_client_error() => refusal = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        let page = Page {
            frame: &frame,
            name,
            expression,
            refusal,
            trial,
        };
        Ok(html(StatusCode::OK, &page))
    };
    page_or_error(&frame, work).await
}

async fn tried(service: &Arc<Service>, place: &Tenant, name: &str, expression: &str) -> Result<Trial, Error> {
    let type_id = resource_type(name)?;
    let (program, part) = compiled(service, type_id, expression)?;
    let leaves: Vec<String> = program.leaves().iter().cloned().collect();
    let turn = service.view_turn("console").await?;
    let started = Instant::now();
    let scope = place.scope();
    let working = service.blocking(move |service| {
        let _turn = turn;
        let mut request = ScanRequest {
            leaves: program.leaves().clone(),
            ..ScanRequest::default()
        };
        if request.leaves.contains(EVERYTHING) {
            request.leaves.insert(TEXT.to_owned());
        }
        request.leaves.insert("id".to_owned());
        let provider = service
            .lake
            .table(&service.lake.snapshot(), type_id, &scope)
            .provider(request);
        evaluated(&provider, &program, type_id)
    });
    let rows = tokio::time::timeout(PATIENCE, working).await;
    let rows = rows.map_err(|_| Error::TooCostly("the trial took longer than 15 s".to_owned()))???;
    let mut tree = String::from("<ul>");
    branch(&part, &mut tree);
    tree.push_str("</ul>");
    Ok(Trial {
        tree,
        leaves,
        rows,
        took: words::millis(started.elapsed()),
    })
}

fn compiled(service: &Service, type_id: TypeId, expression: &str) -> Result<(Program, Part), Error> {
    let options = CompileOptions {
        terminology: Some(service.terminology.clone()),
        extra: Some(&whole),
        ..CompileOptions::default()
    };
    typed(expression, type_id, &options).map_err(|error| Error::Invalid(error.to_string() + &error.meant()))
}

/// Returns the columns that the program reads below its results of this type: all (`*`) if the type is not primitive,
/// because the page shows the whole result. `None` means the default of `CompileOptions`.
fn whole(type_id: TypeId) -> Option<Vec<&'static str>> {
    (!matches!(facts().get(type_id).kind, Kind::Primitive(_))).then(|| vec!["*"])
}

/// Evaluates the expression on the first rows. Returns the results of each row.
fn evaluated(
    provider: &Arc<crate::lake::scan::LakeProvider>,
    program: &Program,
    type_id: TypeId,
) -> Result<Vec<Row>, Error> {
    let schema = provider.schema();
    let columns: Vec<usize> = (0..schema.fields().len())
        .filter(|at| !matches!(schema.field(*at).name().as_str(), FILE | ROW))
        .collect();
    let config = SessionConfig::new().with_target_partitions(1);
    let state = SessionStateBuilder::new().with_config(config).build();
    let plan = futures::executor::block_on(provider.scan(&state, Some(&columns), &[], Some(TRIED)));
    let batches = plan
        .and_then(|plan| plan.execute(0, state.task_ctx()))
        .map_err(Error::internal)?;
    let budget = WorkBudget::default();
    let mut rows = Vec::new();
    for batch in futures::executor::block_on_stream(batches) {
        let batch = batch.map_err(Error::internal)?;
        let batch = batch.slice(0, batch.num_rows().min(TRIED - rows.len()));
        let work = Work::over(&batch, program.parts(), &budget);
        let evaluation = program.evaluate_on(&Focus::root(&batch, type_id).within(&work));
        let evaluation = evaluation.map_err(|error| Error::Invalid(error.to_string()))?;
        let ids = batch
            .column_by_name("id")
            .and_then(|ids| ids.as_string_opt::<i32>().cloned());
        for row in 0..batch.num_rows() {
            let id = ids
                .as_ref()
                .filter(|ids| ids.is_valid(row))
                .map(|ids| ids.value(row).to_owned());
            let fault = evaluation.faults.iter().find(|fault| fault.row as usize == row);
            rows.push(Row {
                id: id.unwrap_or_default(),
                items: items(&evaluation.collection, row),
                fault: fault.map(|fault| fault.error.to_string()),
            });
        }
        if rows.len() == TRIED {
            break;
        }
    }
    Ok(rows)
}

/// Returns the results of a row: the type and the JSON of each.
fn items(collection: &Collection, row: usize) -> Vec<(String, String)> {
    let item = |at| {
        let (items, item) = collection.item(at);
        let mut text = String::new();
        items.write_json(item, &mut text);
        (items.type_name().to_string(), text)
    };
    collection.range(row).map(item).collect()
}

/// Renders a part of an expression, with its own parts, as an HTML list item.
fn branch(part: &Part, html: &mut String) {
    html.push_str("<li><b>");
    escape(&part.name, html);
    html.push_str("</b>");
    if let Some(types) = &part.types {
        let names: Vec<&str> = types.iter().map(|item_type| item_type.name()).collect();
        html.push(' ');
        escape(&names.join(" or "), html);
        if part.many {
            html.push_str(", several");
        }
    }
    if !part.parts.is_empty() {
        html.push_str("<ul>");
        part.parts.iter().for_each(|part| branch(part, html));
        html.push_str("</ul>");
    }
    html.push_str("</li>");
}
