//! The first matches behind a place, or the last before it, in the table's order: parts of the table are searched one
//! after the other, some ahead on other threads, until there are enough.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;

use super::SearchError;
use super::fetch::processors;
use super::population::Scan;
use super::sessions::Sessions;
use super::trace::Trace;
use crate::lake::scan::{FILE, Locator, ROW};

/// Where a walk through a table stops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Matches to leave out.
    pub(super) skip: usize,
    /// Matches to find behind them.
    pub(super) take: usize,
    /// Whether to walk from the table's end.
    pub(super) backwards: bool,
}

/// Up to `limit.take` rows of a scan that pass the filters, in the table's order either way.
pub(super) async fn matches(
    sessions: &Sessions,
    scan: &Scan,
    limit: Limit,
    trace: &Trace,
) -> Result<Vec<Locator>, SearchError> {
    let most = limit.skip.saturating_add(limit.take);
    let planner = sessions.in_parts();
    // Walking backwards, the last matches of a part are wanted, and only its end tells which they are.
    let of_part = (!limit.backwards).then_some(most);
    let plan = scan.columns_planned(planner, [FILE, ROW].into_iter(), of_part).await?;
    let context = planner.context();
    let parts = plan.output_partitioning().partition_count();
    let mut parts: VecDeque<usize> = match limit.backwards {
        false => (0..parts).collect(),
        true => (0..parts).rev().collect(),
    };
    let mut found: Vec<Locator> = Vec::new();
    let mut ahead: VecDeque<SpawnedTask<Result<Vec<Locator>, SearchError>>> = VecDeque::new();
    // Most pages end in the first part; the others are worth a thread once it was not enough.
    if let Some(first) = parts.pop_front() {
        take(
            &mut found,
            part(plan.clone(), first, context.clone(), of_part).await?,
            limit,
        );
    }
    while found.len() < most {
        while ahead.len() < processors()
            && let Some(next) = parts.pop_front()
        {
            ahead.push_back(SpawnedTask::spawn(part(plan.clone(), next, context.clone(), of_part)));
        }
        let Some(next) = ahead.pop_front() else { break };
        let matches = next.join().await.map_err(SearchError::of_thread)?;
        take(&mut found, matches?, limit);
    }
    trace.plan(plan.as_ref());
    found.truncate(most);
    found.drain(..limit.skip.min(found.len()));
    if limit.backwards {
        found.reverse();
    }
    Ok(found)
}

/// Takes up a part's matches: walking backwards, all are kept the wrong way round.
fn take(found: &mut Vec<Locator>, matches: Vec<Locator>, limit: Limit) {
    match limit.backwards {
        false => found.extend(matches),
        true => found.extend(matches.into_iter().rev()),
    }
}

/// The matches of one part, in its order.
async fn part(
    plan: Arc<dyn ExecutionPlan>,
    part: usize,
    context: Arc<TaskContext>,
    limit: Option<usize>,
) -> Result<Vec<Locator>, SearchError> {
    let mut batches = plan.execute(part, context)?;
    let mut found = Vec::new();
    while let Some(batch) = batches.next().await {
        found.extend(Locator::of(&batch?));
        if limit.is_some_and(|limit| found.len() >= limit) {
            break;
        }
    }
    Ok(found)
}
