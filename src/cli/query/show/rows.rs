//! The rows of one view over a lake, as texts.

use std::sync::Arc;

use crate::cli::terminal::failure::Failure;
use crate::lake::{Lake, Scope};
use crate::views::{Event, Format, Resources, RunError, SharedRun, View};

/// Hands every row to `take`, in the order of the table.
pub(super) fn read(
    lake: &Lake,
    scope: &Arc<Scope>,
    view: Arc<View>,
    limit: Option<usize>,
    mut take: impl FnMut(Vec<String>),
) -> Result<(), Failure> {
    for event in events(lake, scope, view, limit, Format::Csv { header: false })? {
        match event.map_err(failed)? {
            Event::Piece { bytes, .. } => {
                let mut reader = csv::ReaderBuilder::new()
                    .has_headers(false)
                    .flexible(true)
                    .from_reader(bytes.as_slice());
                for record in reader.records() {
                    let record = record.map_err(Failure::other)?;
                    take(record.iter().map(str::to_owned).collect());
                }
            }
            Event::Failed { error, .. } => return Err(failed(error)),
            Event::Done { .. } => {}
        }
    }
    Ok(())
}

/// The rows as JSON.
pub(super) fn json(lake: &Lake, scope: &Arc<Scope>, view: Arc<View>, limit: Option<usize>) -> Result<String, Failure> {
    let mut text = Vec::new();
    for event in events(lake, scope, view, limit, Format::Json)? {
        match event.map_err(failed)? {
            Event::Piece { bytes, .. } => text.extend(bytes),
            Event::Failed { error, .. } => return Err(failed(error)),
            Event::Done { .. } => {}
        }
    }
    String::from_utf8(text).map_err(Failure::other)
}

fn events(
    lake: &Lake,
    scope: &Arc<Scope>,
    view: Arc<View>,
    limit: Option<usize>,
    format: Format,
) -> Result<impl Iterator<Item = Result<Event, RunError>>, Failure> {
    let table = lake.table(&lake.snapshot(), view.resource(), scope);
    let resources = Resources {
        owners: None,
        patients: None,
        since: None,
        page: None,
    };
    let run = futures::executor::block_on(SharedRun::new(&table, vec![view], &resources, limit)).map_err(failed)?;
    Ok(run.rows().events(format))
}

fn failed(error: RunError) -> Failure {
    match error {
        error if error.is_too_costly() => Failure::partial(error.to_string()),
        error if error.is_of_view() => Failure::input(error.to_string()),
        error => Failure::other(error),
    }
}
