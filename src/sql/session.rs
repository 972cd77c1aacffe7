//! A SQL session over one snapshot of a lake in one caller's scope: tables, functions, limits.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList, SchemaProvider};
use datafusion::common::TableReference;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{SQLOptions, SessionConfig, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{LogicalPlan, ScalarUDF};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::sql::parser::Statement;

use super::bounded::{Account, bound, check_constants};
use super::error::SqlError;
use super::function::{Called, Expressions};
use super::query::Query;
use super::rewrite::rewrite;
use super::statement::Wanted;
use super::tables::{CATALOG, Catalog, SCHEMA, Tables};
use crate::fhir::facts;
use crate::fhir::nearest::did_you_mean;
use crate::lake::scan::Watch;
use crate::lake::{Lake, Scope};
use crate::plan::{ReserveWindows, SortPool, sorts_by_several_keys, spilling};
use crate::terminology::Terminology;
use crate::views::{Run, View, ViewTable};

/// The maximum number of memory consumers that DataFusion lists in an error about memory.
const CONSUMERS_NAMED: usize = 3;
/// All partitions of a sort together reserve at most `1 / RESERVED_PARTS` of the memory for their merges.
const RESERVED_PARTS: usize = 4;
/// The maximum bytes that the statements of a session have in spill files at one time.
const MAX_SPILLED: u64 = 100 << 30;

/// The limits of a session, and the terminology for its FHIRPath expressions.
#[derive(Debug, Default)]
pub struct Options {
    /// The maximum bytes of memory that sorts, joins, aggregations and the results of functions use together.
    pub memory: usize,
    /// The folder for encrypted spill files. With `None`, no operator can spill.
    pub spill: Option<PathBuf>,
    /// The value sets and code systems for FHIRPath expressions. `None` if there are none.
    pub terminology: Option<Arc<Terminology>>,
}

/// A SQL session. Its statements read the snapshot that was the newest when the session was created.
pub struct Session {
    context: SessionContext,
    tables: Arc<Tables>,
    /// The memory of the results of functions.
    account: Arc<Account>,
    /// Becomes `true` as soon as a planned statement sorts by several keys, and stays so. If it is `true`, the memory
    /// pool makes sorts spill early.
    early: Arc<AtomicBool>,
}

impl Session {
    /// Creates a session over the lake's newest snapshot. Each view becomes a table with the given name. A name that is
    /// used twice, or that is the name of a resource type, is an error.
    pub fn new(
        lake: &Lake,
        scope: &Arc<Scope>,
        views: Vec<(String, Arc<View>)>,
        options: Options,
    ) -> Result<Session, SqlError> {
        let snapshot = lake.snapshot();
        let mut named = BTreeMap::new();
        for (name, view) in views {
            if Tables::resource_type(&name).is_some() {
                let problem = format!("a view is named '{name}', as the table of that type is; rename the view");
                return Err(SqlError::Name(problem));
            }
            let table = lake.table(&snapshot, view.resource(), scope);
            if named
                .insert(
                    name.clone(),
                    Arc::new(ViewTable::new(&view, table.clone()).named_by(Run::naming(&table, &view))),
                )
                .is_some()
            {
                return Err(SqlError::Name(format!(
                    "two views are named '{name}'; rename one of them"
                )));
            }
        }
        let any = facts().lookup("Patient").or_else(|| facts().resources().next());
        let any = any.ok_or_else(|| SqlError::Session("there are no resource types".to_owned()))?;
        let tables = Arc::new(Tables::new(lake.table(&snapshot, any, scope), named));
        let catalogs = MemoryCatalogProviderList::new();
        catalogs.register_catalog(CATALOG.to_owned(), Arc::new(Catalog(tables.clone())));
        let mut rules = PhysicalOptimizer::new().rules;
        rules.push(Arc::new(ReserveWindows));
        let expressions = Arc::new(Expressions::new(options.terminology.clone()));
        let early = Arc::new(AtomicBool::new(false));
        let mut state = SessionStateBuilder::new_with_default_features()
            .with_config(config(options.memory))
            .with_runtime_env(runtime(&options, early.clone())?)
            .with_catalog_list(Arc::new(catalogs))
            .with_physical_optimizer_rules(rules)
            .build();
        // Without table factories, no statement can create a table from a file.
        state.table_factories_mut().clear();
        let context = SessionContext::new_with_state(state);
        for is_list in [false, true] {
            context.register_udf(ScalarUDF::from(Called::new(is_list, expressions.clone())));
        }
        let pool = context.runtime_env().memory_pool.clone();
        Ok(Session {
            context,
            tables,
            account: Arc::new(Account::new(pool, options.memory)),
            early,
        })
    }

    /// Parses and plans a statement. An `EXPLAIN` yields its plan, any other statement its rows.
    pub async fn query(&self, statement: &str) -> Result<Query, SqlError> {
        self.plan(Wanted::parse(statement)?, None).await
    }

    /// If a statement names tables that do not exist, returns an error about the first of them. Returns `None` if all
    /// tables exist.
    fn absent(&self, statement: &Statement) -> Option<SqlError> {
        let named = self.context.state().resolve_table_references(statement).ok()?;
        let of_lake = named
            .iter()
            .filter(|table| table.schema().is_none_or(|schema| schema == SCHEMA));
        let absent = of_lake
            .map(TableReference::table)
            .find(|name| !self.tables.table_exist(name))?;
        let known = self.tables.table_names();
        let meant = did_you_mean(absent, known.iter().map(String::as_str));
        Some(SqlError::Statement(format!("there is no table '{absent}'{meant}")))
    }

    /// Parses and plans a statement whose plan is to be shown instead of its rows. With `analyze`, [`Query::plan`] runs
    /// the statement first and adds the metrics, as for `EXPLAIN ANALYZE`.
    pub async fn explain(&self, statement: &str, analyze: bool) -> Result<Query, SqlError> {
        self.plan(Wanted::parse(statement)?, Some(analyze)).await
    }

    async fn plan(&self, wanted: Wanted, explains: Option<bool>) -> Result<Query, SqlError> {
        self.account.begin_statement();
        let shows = match wanted {
            Wanted::Plan { analyze, .. } => Some(analyze || explains == Some(true)),
            Wanted::Rows(_) => explains,
        };
        let watch = (shows == Some(true)).then(Arc::<Watch>::default);
        let state = self.context.state();
        let plan = state.statement_to_plan(wanted.statement().clone()).await;
        let plan = plan.map_err(|error| {
            self.absent(wanted.statement())
                .unwrap_or_else(|| SqlError::of_plan(error))
        })?;
        let reads = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        reads
            .verify_plan(&plan)
            .map_err(|_| SqlError::Writes("the statement".to_owned()))?;
        let plan = match plan {
            LogicalPlan::DescribeTable(_) => plan,
            plan => rewrite(plan, &self.tables, watch.as_ref())
                .and_then(|plan| bound(plan, &self.account))
                .map_err(SqlError::of_plan)?,
        };
        let frame = self
            .context
            .execute_logical_plan(plan)
            .await
            .map_err(SqlError::of_plan)?;
        let context = Arc::new(frame.task_ctx());
        let (state, plan) = frame.into_parts();
        let logical = state.optimize(&plan).map_err(SqlError::of_plan)?;
        // The rules of the optimizer may have added functions.
        let logical = bound(logical, &self.account).map_err(SqlError::of_plan)?;
        check_constants(&logical, &self.account).map_err(SqlError::of_plan)?;
        let physical = state.query_planner().create_physical_plan(&logical, &state).await;
        let physical = physical.map_err(SqlError::of_plan)?;
        let early = sorts_by_several_keys(&physical).map_err(SqlError::of_plan)?;
        self.early.fetch_or(early, Ordering::Relaxed);
        Ok(Query {
            logical,
            physical,
            context,
            shows,
            _watch: watch,
        })
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

/// Returns the configuration of a session with this many bytes of memory. Column names keep their case, because FHIR's
/// element names are case-sensitive.
fn config(memory: usize) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(true);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    // If a sort can spill, each of its partitions reserves this number of bytes for its merge before it keeps rows. The
    // number is DataFusion's default or, if that is too much, `1 / RESERVED_PARTS` of the memory divided by the number
    // of partitions.
    let reserved = memory / RESERVED_PARTS / options.execution.target_partitions.max(1);
    options.execution.sort_spill_reservation_bytes = options.execution.sort_spill_reservation_bytes.min(reserved);
    config
}

fn runtime(
    options: &Options,
    early: Arc<AtomicBool>,
) -> Result<Arc<datafusion::execution::runtime_env::RuntimeEnv>, SqlError> {
    let named = NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(NonZeroUsize::MIN);
    let pool = TrackConsumersPool::new(SortPool::new(options.memory, early), named);
    let disk = match &options.spill {
        Some(folder) => spilling(folder, MAX_SPILLED),
        None => DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled),
    };
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_disk_manager_builder(disk)
        .build_arc()
        .map_err(|error| SqlError::Session(error.strip_backtrace()))
}
