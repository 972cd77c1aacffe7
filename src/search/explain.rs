//! How a search is run: the plan, what the scan kept and pruned, which leaves it read, and where the time went.

use std::fmt::Write as _;
use std::time::Instant;

use datafusion::physical_plan::{collect, displayable};

use super::engine::{Engine, Request};
use super::query::Query;
use super::{SearchError, filter, person, population};
use crate::fhir::facts;
use crate::lake::scan::{Person, ScanReport, ScopedTable};

impl Engine {
    /// Runs a search as [`Engine::search`] does, less the fetching of resources, and says how.
    pub async fn explain(&self, request: &Request<'_>) -> Result<String, SearchError> {
        let started = Instant::now();
        let mut query = self.resolve(request)?;
        let resolved = started.elapsed();
        let table = self.table(&query, request)?;
        let started = Instant::now();
        self.settle(&table, &mut query.criteria).await?;
        let settled = started.elapsed();
        let bound = self.bound(&query, &table);
        let mut text = format!(
            "search of {} in snapshot {}: {} criteria, {} sort keys\nresolve  {resolved:?}\nothers   {settled:?}, conditions on other resources\n",
            facts().get(query.ty).name,
            table.snapshot(),
            query.criteria.len(),
            query.sort.len()
        );
        for criterion in &query.criteria {
            let leaves: Vec<String> = filter::leaves(std::slice::from_ref(criterion)).into_iter().collect();
            let _ = writeln!(text, "  {}  reads {}", criterion.label, leaves.join(", "));
        }
        match bound.person {
            Some(person) => {
                explain_person(&table, &query, person, &mut text)?;
                text.push_str("\nwhat finding the same rows reads, as a plan:\n");
                let owners = match person {
                    Person::OfScope => None,
                    Person::Owner(owner) => Some(vec![owner]),
                    Person::Either(one, other) => Some(vec![one, other]),
                };
                self.explain_population(&table, &query, owners, &mut text).await?;
            }
            None => self.explain_population(&table, &query, bound.owners, &mut text).await?,
        }
        Ok(text)
    }

    async fn explain_population(
        &self,
        table: &ScopedTable,
        query: &Query,
        owners: Option<Vec<i64>>,
        text: &mut String,
    ) -> Result<(), SearchError> {
        if let Some(owners) = &owners {
            let _ = writeln!(text, "owners   {}; all others are skipped", owners.len());
        }
        let started = Instant::now();
        let planned = population::physical(self.sessions(), table, query, owners).await?;
        let _ = writeln!(text, "plan     {:?}", started.elapsed());
        let started = Instant::now();
        let plan = planned.plan.clone();
        let batches = collect(plan.clone(), planned.state.task_ctx()).await?;
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        let _ = writeln!(
            text,
            "run      {:?}, {rows} rows\n\n{}",
            started.elapsed(),
            displayable(plan.as_ref()).indent(true)
        );
        report(&planned.provider.report(), text);
        Ok(())
    }
}

fn explain_person(table: &ScopedTable, query: &Query, person: Person, text: &mut String) -> Result<(), SearchError> {
    let mut leaves = filter::leaves(&query.criteria);
    for key in &query.sort {
        leaves.extend(key.compiled.program.leaves().iter().cloned());
    }
    text.push_str("bound to one person: runs over the person's columns, without a plan\n");
    for touch in ["first touch", "again"] {
        let started = Instant::now();
        let rows = table.person_batch(person, &leaves)?.batch;
        let _ = writeln!(
            text,
            "columns  {:?} ({touch}), {} rows",
            started.elapsed(),
            rows.num_rows()
        );
    }
    let started = Instant::now();
    let found = person::search(table, query, person)?;
    let _ = writeln!(
        text,
        "match    {:?}, {} of them match",
        started.elapsed(),
        found.total.unwrap_or_default()
    );
    Ok(())
}

fn report(report: &ScanReport, text: &mut String) {
    let _ = writeln!(
        text,
        "files       {} of {} read\nrow groups  {} of {} read\nrows        {} met, {} pruned, {} dropped by predicates, {} out\n\
         time        prune {:?}, read {:?}, predicates {:?}\nbytes       {}",
        report.files - report.files_pruned,
        report.files,
        report.row_groups - report.row_groups_pruned,
        report.row_groups,
        report.rows,
        report.rows_pruned,
        report.rows_filtered,
        report.rows_out,
        report.prune_time,
        report.read_time,
        report.filter_time,
        report.bytes()
    );
    for (leaf, bytes) in &report.bytes_by_leaf {
        let _ = writeln!(text, "  {bytes:>12}  {leaf}");
    }
}
