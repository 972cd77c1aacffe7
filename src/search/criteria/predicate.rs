//! A query's criteria as predicates. Plans hold them as filters, and scans evaluate them.

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

/// A criterion of a query.
#[derive(Debug)]
pub(in crate::search) struct Asked {
    pub(in crate::search) criterion: Criterion,
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
    /// Whether values in plain columns are compared without running the program.
    pub(in crate::search) plain: bool,
    /// The Patients of the compartments that the query names, and the owners of their rows.
    pub(in crate::search) filed: Option<Filed>,
}

/// A query's criteria, which must all hold. Without `pushdown` the program of each is evaluated on every row.
pub(in crate::search) fn of(query: &Query, pushdown: bool) -> Vec<Arc<dyn Predicate>> {
    let criteria = query.criteria.iter();
    criteria.map(|criterion| one(query, criterion, pushdown)).collect()
}

/// One criterion of a query.
pub(in crate::search) fn one(query: &Query, criterion: &Criterion, pushdown: bool) -> Arc<dyn Predicate> {
    if let Condition::Dynamic(filter) = &criterion.condition {
        return filter.clone();
    }
    Arc::new(Asked {
        criterion: criterion.clone(),
        label: criterion.label.as_str().into(),
        leaves: filter::leaves(std::slice::from_ref(criterion)),
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
