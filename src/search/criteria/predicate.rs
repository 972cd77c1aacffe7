//! The criteria of a query as predicates. A plan has them as filters, and a scan evaluates them.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::common::DataFusionError;

use super::super::joins::binding::Filed;
use super::super::parameters::query::Query;
use super::criterion::{Condition, Criterion};
use super::{filter, pushdown};
use crate::columns::conditions::Necessary;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::Predicate;

/// A predicate that consists of one criterion of a query.
#[derive(Debug)]
pub(in crate::search) struct Asked {
    pub(in crate::search) criterion: Criterion,
    label: Arc<str>,
    leaves: LeafSet,
    cost: u64,
    necessary: Necessary,
    /// Whether values in plain columns are compared directly, without the parameter's program.
    pub(in crate::search) plain: bool,
    /// The Patients whose compartments are searched, and the owners of their rows. `None` if the query names no
    /// compartment.
    pub(in crate::search) filed: Option<Filed>,
}

/// Returns a predicate for each criterion of a query. Without `pushdown`, each predicate evaluates the programs of its
/// criterion on every row, and gives the scan no necessary condition.
pub(in crate::search) fn of(query: &Query, pushdown: bool) -> Vec<Arc<dyn Predicate>> {
    let criteria = query.criteria.iter();
    criteria.map(|criterion| one(query, criterion, pushdown)).collect()
}

/// Returns the predicate of one criterion of a query.
pub(in crate::search) fn one(query: &Query, criterion: &Criterion, pushdown: bool) -> Arc<dyn Predicate> {
    if let Condition::Dynamic(filter) = &criterion.condition {
        return filter.clone();
    }
    Arc::new(Asked {
        criterion: criterion.clone(),
        label: criterion.label.as_str().into(),
        leaves: filter::leaves(std::slice::from_ref(criterion)),
        cost: criterion.cost(),
        necessary: if pushdown {
            pushdown::necessary(query, criterion)
        } else {
            Necessary::default()
        },
        plain: pushdown,
        filed: query.filed.clone(),
    })
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

    fn cost(&self) -> u64 {
        self.cost
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError> {
        let criteria = std::slice::from_ref(&self.criterion);
        let matches = if self.plain {
            filter::matches(criteria, batch)
        } else {
            filter::matches_by_programs(criteria, batch)
        };
        matches.map_err(|error| DataFusionError::External(Box::new(error)))
    }
}
