//! Reads the rows of one view over a lake, as strings or as JSON, and counts the rows of a table.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::execution::context::SessionConfig;
use datafusion::execution::session_state::SessionStateBuilder;

use crate::cli::terminal::failure::Failure;
use crate::fhir::TypeId;
use crate::lake::scan::ScanRequest;
use crate::lake::{Lake, Scope};
use crate::views::{Event, Format, Resources, RunError, SharedRun, View};

/// Passes the cells of each row to `take`, in the order of the table.
pub(super) fn read(
    lake: &Lake,
    scope: &Arc<Scope>,
    view: Arc<View>,
    limit: Option<usize>,
    mut take: impl FnMut(Vec<String>),
) -> Result<(), Failure> {
    let run = planned(lake, scope, view, limit)?;
    let mut failure = None;
    for event in run.rows().events(Format::Csv { header: false }) {
        match event {
            Ok(Event::Piece { bytes, .. }) => {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .from_reader(bytes.as_slice());
                for record in reader.records() {
                    let record = record.map_err(Failure::other)?;
                    take(record.iter().map(str::to_owned).collect());
                }
            }
            Ok(Event::Failed { error, .. }) | Err(error) => {
                failure = Some(error);
                break;
            }
            Ok(Event::Done { .. }) => {}
        }
    }
    named(&run, failure)
}

/// Returns the rows as a JSON array.
pub(super) fn json(lake: &Lake, scope: &Arc<Scope>, view: Arc<View>, limit: Option<usize>) -> Result<String, Failure> {
    let mut text = Vec::new();
    let run = planned(lake, scope, view, limit)?;
    let mut failure = None;
    for event in run.rows().events(Format::Json) {
        match event {
            Ok(Event::Piece { bytes, .. }) => text.extend(bytes),
            Ok(Event::Failed { error, .. }) | Err(error) => {
                failure = Some(error);
                break;
            }
            Ok(Event::Done { .. }) => {}
        }
    }
    named(&run, failure)?;
    String::from_utf8(text).map_err(Failure::other)
}

/// Returns the number of rows of a table in the scope. Reads no column.
pub(super) fn count(lake: &Lake, scope: &Arc<Scope>, type_id: TypeId) -> Result<u64, Failure> {
    let provider = lake
        .table(&lake.snapshot(), type_id, scope)
        .provider(ScanRequest::default());
    let config = SessionConfig::new().with_target_partitions(1);
    let state = SessionStateBuilder::new().with_config(config).build();
    let plan = futures::executor::block_on(provider.scan(&state, Some(&Vec::new()), &[], None));
    let plan = plan.map_err(Failure::other)?;
    let batches = plan.execute(0, state.task_ctx()).map_err(Failure::other)?;
    let mut rows = 0;
    for batch in futures::executor::block_on_stream(batches) {
        rows += batch.map_err(Failure::other)?.num_rows() as u64;
    }
    Ok(rows)
}

fn planned(lake: &Lake, scope: &Arc<Scope>, view: Arc<View>, limit: Option<usize>) -> Result<SharedRun, Failure> {
    let table = lake.table(&lake.snapshot(), view.resource(), scope);
    let resources = Resources {
        owners: None,
        patients: None,
        since: None,
        page: None,
    };
    futures::executor::block_on(SharedRun::new(&table, vec![view], &resources, limit)).map_err(failed)
}

/// Converts the error of a run to a failure. If the error comes from the view, the message names the resource that
/// caused it. Returns `Ok` if the run had no error.
fn named(run: &SharedRun, failure: Option<RunError>) -> Result<(), Failure> {
    match failure {
        Some(error) => Err(failed(run.named(0, error))),
        None => Ok(()),
    }
}

fn failed(error: RunError) -> Failure {
    match error {
        error if error.is_too_costly() => Failure::partial(error.to_string()),
        error if error.is_of_view() => Failure::input(error.to_string()),
        error => Failure::other(error),
    }
}
