//! The other side of a semi-join: the plan that finds the ids for a condition.
//!
//! The plan is built without a planner, because it always has the same form: a scan with filters, or one person's
//! columns, and the ids from these rows. Planning it would take longer than reading a table of some thousand rows.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;

use super::super::SearchError;
use super::super::criteria::criterion::Criterion;
use super::super::criteria::targets;
use super::super::engine::Engine;
use super::super::parameters::parameter::Compiled;
use super::super::parameters::query::Query;
use super::super::run::explain::trace::Trace;
use super::super::run::person_operator::{OnPerson, PersonOutput};
use super::super::run::population;
use crate::columns::conditions::IdSet;
use crate::columns::json::Tape;
use crate::fhir::storage::LeafSet;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::ScopedTable;
use crate::plan::{IdsExec, Lookup, LookupExec, On, Pause, Take};

/// The maximum number of resources to which a condition on other resources may lead.
const MAX_JOINED: usize = 5_000_000;

/// The work of making and running a plan that reads nothing, in the unit of a budget.
const WORK_OF_A_PLAN: u64 = 2_000;

/// The search of another table. A condition on other resources needs the ids that it finds.
pub(in crate::search) struct Other {
    pub(in crate::search) table: ScopedTable,
    pub(in crate::search) criteria: Vec<Criterion>,
    /// The semi-joins that answered conditions on other resources in `criteria`.
    pub(in crate::search) joins: Vec<On>,
    /// Records the plans that resolve canonicals for `criteria`.
    trace: Trace,
}

impl Other {
    pub(in crate::search) fn of(table: ScopedTable, criteria: Vec<Criterion>) -> Other {
        Other {
            table,
            criteria,
            joins: Vec::new(),
            trace: Trace::default(),
        }
    }

    /// Sets the trace that records the plans which answer the criteria.
    pub(in crate::search) fn traced(self, trace: &Trace) -> Other {
        let trace = trace.clone();
        Other { trace, ..self }
    }
}

impl Engine {
    /// Returns a plan for the ids of the rows that meet the criteria.
    pub(in crate::search) async fn meeting(&self, other: &mut Other) -> Result<Arc<IdsExec>, SearchError> {
        let label = format!("{}.id", facts().get(other.table.type_id()).name);
        let take = Arc::new(Own { label });
        self.side(other, LeafSet::from(["id".to_owned()]), take).await
    }

    /// Returns a plan for the ids of those resources of `type_id` to which the rows that meet the criteria refer.
    pub(in crate::search) async fn referred(
        &self,
        other: &mut Other,
        through: &Arc<Compiled>,
        type_id: TypeId,
    ) -> Result<Arc<IdsExec>, SearchError> {
        let (source, wanted) = (facts().get(other.table.type_id()).name, facts().get(type_id).name);
        let take = Arc::new(Referred {
            label: format!("{wanted} of {source}.{}", through.parameter.code),
            through: through.clone(),
            wanted,
        });
        self.side(other, through.program.leaves().clone(), take).await
    }

    /// Returns a plan for the ids of those resources of the table's type that are entries of a List.
    pub(in crate::search) fn listed(&self, table: &ScopedTable, list: &str) -> IdsExec {
        let resource_type = facts().get(table.type_id()).name;
        let entries = Entries::new(table.clone(), list.to_owned());
        let label = format!("{resource_type} of List.item");
        IdsExec::new(Arc::new(LookupExec::new(Arc::new(entries))), Arc::new(Own { label }))
    }

    /// Returns the ids that a plan finds. Runs the plan if it has not run yet.
    pub(in crate::search) async fn ids(&self, plan: &IdsExec) -> Result<Arc<IdSet>, SearchError> {
        let mut pause = Pause::default();
        let ids = plan.ids(&self.sessions().parallel().context()).await?;
        // A plan over one person's columns never waits. So a search with many such plans pauses here.
        pause.take().await;
        Ok(ids)
    }

    /// Returns a plan that takes ids from the rows that meet the criteria.
    async fn side(&self, other: &mut Other, leaves: LeafSet, take: Arc<dyn Take>) -> Result<Arc<IdsExec>, SearchError> {
        let Other {
            table,
            criteria,
            joins,
            trace,
        } = other;
        // A plan takes time even if it reads nothing.
        table.spend(WORK_OF_A_PLAN)?;
        joins.extend(self.join(table, criteria, trace).await?);
        let query = Query {
            joins: joins.clone(),
            ..Query::of_criteria(table.type_id(), criteria.clone())
        };
        let bound = self.bound(&query, table);
        let rows: Arc<dyn ExecutionPlan> = if !table.has_files() {
            Arc::new(EmptyExec::new(table.schema(&leaves)))
        } else if let Some(person) = bound.person {
            let rows = OnPerson::new(table, &query, person, PersonOutput::Rows(leaves));
            let rows = LookupExec::new(Arc::new(rows));
            On::over_physical(&query.joins, Arc::new(rows))
        } else {
            population::side(self.sessions(), table, &query, bound.owners, &leaves).await?
        };
        Ok(Arc::new(IdsExec::new(rows, take)))
    }

    /// Calls `take` with the rows of a table that meet a query's criteria, batch by batch. The batches have the columns
    /// of `leaves`.
    pub(in crate::search) async fn rows(
        &self,
        table: &ScopedTable,
        query: &Query,
        leaves: LeafSet,
        mut take: impl FnMut(&RecordBatch) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let bound = self.bound(query, table);
        let Some(person) = bound.person else {
            return population::rows(self.sessions(), table, query, bound.owners, leaves, take).await;
        };
        let found = self.of_person(table, query, person, PersonOutput::Rows(leaves));
        take(&found.await?.rows()?)
    }
}

/// Collects the ids of the rows themselves.
#[derive(Debug)]
pub(in crate::search) struct Own {
    pub(in crate::search) label: String,
}

impl Take for Own {
    fn label(&self) -> &str {
        &self.label
    }

    fn take(&self, rows: &RecordBatch, ids: &mut IdSet) -> Result<()> {
        let column = rows
            .column_by_name("id")
            .and_then(|column| column.as_string_opt::<i32>());
        column.into_iter().flatten().flatten().for_each(|id| {
            ids.insert(id);
        });
        self.check(ids)
    }

    fn check(&self, ids: &IdSet) -> Result<()> {
        bounded(ids).map_err(of_plan)
    }
}

/// Collects the ids of those resources of type `wanted` to which the rows refer by the parameter `through`.
#[derive(Debug)]
pub(in crate::search) struct Referred {
    pub(in crate::search) label: String,
    pub(in crate::search) through: Arc<Compiled>,
    pub(in crate::search) wanted: &'static str,
}

impl Take for Referred {
    fn label(&self) -> &str {
        &self.label
    }

    fn take(&self, rows: &RecordBatch, ids: &mut IdSet) -> Result<()> {
        // A person's rows are adjacent, and most of them refer to that person. So consecutive references often have the
        // same id. An id that equals `last`, the one inserted last, is not inserted again.
        let mut last = String::new();
        let each = targets::each(&self.through, rows, |resource_type, id| {
            if resource_type == self.wanted && id != last {
                ids.insert(id);
                id.clone_into(&mut last);
            }
        });
        each.map_err(of_plan)?;
        self.check(ids)
    }

    fn check(&self, ids: &IdSet) -> Result<()> {
        bounded(ids).map_err(of_plan)
    }
}

/// Looks up a List, and yields the ids of the resources to which its entries refer. Only resources of the table's type
/// count. Entries marked as deleted are left out.
#[derive(Debug)]
pub(in crate::search) struct Entries {
    label: String,
    pub(in crate::search) table: ScopedTable,
    pub(in crate::search) list: String,
}

impl Entries {
    pub(in crate::search) fn new(table: ScopedTable, list: String) -> Entries {
        Entries {
            label: format!("entries of List/{list}"),
            table,
            list,
        }
    }

    fn ids(&self) -> Result<Vec<String>, SearchError> {
        let mut ids = Vec::new();
        let Some(lists) = facts().lookup("List") else {
            return Ok(ids);
        };
        let Some(row) = self.table.other(lists).read(&self.list)? else {
            return Ok(ids);
        };
        let mut tape = Tape::new();
        let root = tape
            .parse(&row.resource)
            .map_err(|error| SearchError::Stored(format!("List/{}: {error}", self.list)))?;
        let prefix = format!("{}/", facts().get(self.table.type_id()).name);
        for entry in root.get("entry").into_iter().flat_map(|entries| entries.items()) {
            if entry.get("deleted").and_then(|deleted| deleted.as_bool()) == Some(true) {
                continue;
            }
            let reference = entry.get("item").and_then(|item| item.get_str("reference"));
            let id = reference
                .as_deref()
                .and_then(|reference| reference.strip_prefix(&prefix));
            ids.extend(id.map(|id| id.split('/').next().unwrap_or(id).to_owned()));
        }
        Ok(ids)
    }
}

impl Lookup for Entries {
    fn label(&self) -> &str {
        &self.label
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, false)]))
    }

    fn rows(&self) -> Result<RecordBatch> {
        let ids = StringArray::from(self.ids().map_err(of_plan)?);
        Ok(RecordBatch::try_new(self.schema(), vec![Arc::new(ids)])?)
    }
}

/// Refuses a condition that leads to more than `MAX_JOINED` resources.
pub(in crate::search) fn bounded(ids: &IdSet) -> Result<(), SearchError> {
    if ids.len() > MAX_JOINED {
        Err(SearchError::TooManyJoined(MAX_JOINED))
    } else {
        Ok(())
    }
}

fn of_plan(error: SearchError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
