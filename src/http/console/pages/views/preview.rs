//! Runs a view for its first rows, and measures the cost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use crate::http::console::shown::tenant::Tenant;
use crate::http::error::Error;
use crate::http::service::Service;
use crate::lake::scan::ScanReport;
use crate::views::{Format, Resources, Run, RunError, Stop, View};

/// How long a preview may take, and how long drawing its plot may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Rows as strings. `names` are the columns of each row of `cells`.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) names: Vec<String>,
    pub(super) cells: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// Returns the index of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|one| one == name)
    }
}

/// The first rows of a view, and what it cost to compute them.
pub(super) struct Preview {
    pub(super) rows: Rows,
    pub(super) report: ScanReport,
    pub(super) plan: String,
    pub(super) took: Duration,
}

/// Stops the running view when this is dropped: the client has disconnected, the time is over, or the run has ended.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.ask();
    }
}

/// Plans a view over the records of a tenant.
pub(super) async fn planned(
    service: &Arc<Service>,
    place: &Tenant,
    view: Arc<View>,
    limit: Option<usize>,
) -> Result<Run, Error> {
    let scope = place.scope();
    let planning = service.blocking(move |service| {
        let table = service.lake.table(&service.lake.snapshot(), view.resource(), &scope);
        futures::executor::block_on(Run::new(&table, view, &Resources::default(), limit))
    });
    Ok(planning.await??)
}

/// Runs a view for its first rows. An error if it takes too long.
pub(super) async fn preview(
    service: &Arc<Service>,
    place: &Tenant,
    view: Arc<View>,
    limit: usize,
) -> Result<Preview, Error> {
    let turn = service.view_turn("console").await?;
    let started = Instant::now();
    let names: Vec<String> = view.columns().iter().map(|column| column.name.clone()).collect();
    let run = planned(service, place, view, Some(limit)).await?;
    let waiting = Waiting(run.stop());
    let reading = service.blocking(move |_| {
        let _turn = turn;
        let mut text = Vec::new();
        run.rows().write(Format::Ndjson, &mut text)?;
        let took = started.elapsed();
        Ok::<_, RunError>((text, run.report(), run.explain(), took))
    });
    let read = tokio::time::timeout(PATIENCE, reading).await;
    drop(waiting);
    let (text, report, plan, took) = match read {
        Ok(read) => read??,
        Err(_) => {
            let problem = "the preview took longer than 15 s; narrow the view, or download its rows";
            return Err(Error::TooCostly(problem.to_owned()));
        }
    };
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let cells = lines.map(|line| cells(&names, line)).collect::<Result<_, _>>()?;
    Ok(Preview {
        rows: Rows { names, cells },
        report,
        plan,
        took,
    })
}

/// Parses a line of NDJSON into cells. Numbers keep their digits as they are written.
fn cells(names: &[String], line: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let row: HashMap<String, Box<RawValue>> = serde_json::from_slice(line).map_err(Error::internal)?;
    let cell = |name: &String| {
        let text = row.get(name)?.get();
        match text {
            "null" => None,
            text if text.starts_with('"') => serde_json::from_str(text).ok(),
            text => Some(text.to_owned()),
        }
    };
    Ok(names.iter().map(cell).collect())
}
