//! Predicates for tests, and scans with them.

use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::concat_batches;
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::{ExecutionPlanProperties, collect};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext, ident};
use tabularium::columns::conditions::{Decisive, ItemMatch, Necessary, Prune};
use tabularium::fhir::storage::LeafSet;
use tabularium::lake::scan::{FILE, LakeProvider, Predicate, ROW, ScanReport, expression};
use tabularium::lake::{ScanRequest, ScopedTable};

use super::leaves;

/// The computation of a predicate.
pub(super) type Keep = Arc<dyn Fn(&RecordBatch) -> Result<BooleanArray, DataFusionError> + Send + Sync>;

/// A predicate.
#[derive(Clone)]
pub(super) struct Asked {
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
    keep: Keep,
}

impl Asked {
    /// A predicate that keeps these rows, over these leaves.
    pub(super) fn of(label: &str, leaves: LeafSet, keep: Keep) -> Asked {
        Asked {
            label: label.into(),
            leaves,
            necessary: Necessary::default(),
            keep,
        }
    }

    /// A predicate by statistics alone: rows that they do not refute are kept without a check.
    pub(super) fn refuted_by(prune: Prune) -> Asked {
        let necessary = Necessary {
            prune,
            exact: true,
            ..Necessary::default()
        };
        Asked {
            necessary,
            ..Asked::of("statistics", leaves(&["id"]), nobody_asks())
        }
    }

    /// A predicate on items.
    pub(super) fn of_items(condition: &ItemMatch) -> Asked {
        let necessary = Necessary {
            items: vec![condition.clone()],
            exact: true,
            ..Necessary::default()
        };
        Asked {
            necessary,
            ..Asked::of(&condition.label, condition.leaf_set(), nobody_asks())
        }
    }

    /// The same, with statistics that can refute it.
    pub(super) fn with_prune(mut self, prune: Prune) -> Asked {
        self.necessary.prune = prune;
        self
    }

    /// The same, with a condition that decides the predicate wherever no row meets a presence condition of it.
    pub(super) fn decided_by(mut self, prune: Prune) -> Asked {
        self.necessary.decides = Decisive::of(prune.clone());
        self.with_prune(prune)
    }
}

fn nobody_asks() -> Keep {
    Arc::new(|_| panic!("rows are asked about what is decided"))
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl Predicate for Asked {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn necessary(&self) -> &Necessary {
        &self.necessary
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError> {
        (self.keep)(batch)
    }
}

/// A provider of the requested and the predicates' columns, with the predicates as filters.
pub(super) fn filtered(
    table: &ScopedTable,
    mut request: ScanRequest,
    asked: &[Asked],
) -> (Arc<LakeProvider>, Vec<Expr>) {
    for predicate in asked {
        request.leaves.extend(predicate.leaves.iter().cloned());
    }
    let provider = table.provider(request);
    let schema = provider.schema();
    let filters = asked
        .iter()
        .map(|predicate| expression(Arc::new(predicate.clone()), &schema));
    (provider, filters.collect())
}

/// The rows that meet all predicates, in two partitions and with the requested columns, and the scan's report.
pub(super) fn scanned(table: &ScopedTable, request: ScanRequest, asked: &[Asked]) -> (RecordBatch, ScanReport) {
    try_scanned(table, request, asked).unwrap()
}

/// The same, if it may fail.
pub(super) fn try_scanned(
    table: &ScopedTable,
    request: ScanRequest,
    asked: &[Asked],
) -> Result<(RecordBatch, ScanReport), DataFusionError> {
    let wanted = table.schema(&request.leaves);
    let names = wanted.fields().iter().map(|field| field.name().as_str());
    let columns: Vec<Expr> = names.chain([FILE, ROW]).map(ident).collect();
    let (provider, filters) = filtered(table, request, asked);
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let frame = context.read_table(provider.clone())?;
    let frame = filters
        .into_iter()
        .try_fold(frame, DataFrame::filter)?
        .select(columns)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let batches = runtime.block_on(async {
        let plan = frame.create_physical_plan().await?;
        assert!(plan.output_partitioning().partition_count() <= 2);
        Ok::<_, DataFusionError>((plan.schema(), collect(plan, context.task_ctx()).await?))
    });
    let (schema, batches) = batches?;
    Ok((concat_batches(&schema, &batches)?, provider.report()))
}
