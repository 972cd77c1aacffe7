//! The `where` of views as a predicate. A plan has it in its filter, and the scan applies it.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::error::DataFusionError;

use super::super::error::RunError;
use super::super::view::View;
use crate::columns::conditions::{Necessary, Prune};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::Predicate;

/// The predicate that is true of a resource if the view keeps it. With several views, it is true if at least one of
/// them keeps the resource.
#[derive(Debug)]
pub(in crate::views) struct Where {
    views: Vec<Arc<View>>,
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
}

/// Returns the predicate that is true of a resource if at least one of these views keeps it. Each of the views has a
/// `where`.
pub(in crate::views) fn of(views: &[Arc<View>]) -> Arc<dyn Predicate> {
    let text = |view: &Arc<View>| format!("where {}", view.filter_text().unwrap_or_default());
    let labels: Vec<String> = views.iter().map(text).collect();
    let necessary = match views {
        [only] => only.necessary(),
        // Use no conditions on items. Such a condition holds only for the resources of one view, so the scan could drop
        // resources that another view keeps.
        several => Necessary {
            prune: Prune::any(several.iter().map(|view| view.necessary().prune)),
            ..Necessary::default()
        },
    };
    Arc::new(Where {
        views: views.to_vec(),
        label: labels.join(" or ").into(),
        leaves: views.iter().flat_map(|view| view.filter_leaves()).collect(),
        necessary,
    })
}

impl Where {
    /// Returns the views.
    pub(in crate::views) fn views(&self) -> &[Arc<View>] {
        &self.views
    }
}

impl Predicate for Where {
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
        let views = match self.views.as_slice() {
            [only] => return only.keep(batch).map_err(RunError::into_plan),
            several => several,
        };
        let mut kept = BooleanArray::from(vec![false; batch.num_rows()]);
        for view in views {
            match view.keep(batch) {
                Ok(keeps) => kept = arrow::compute::or(&kept, &keeps)?,
                // Keep all rows. The view then applies its `where` itself and reports the error.
                Err(_) => return Ok(BooleanArray::from(vec![true; batch.num_rows()])),
            }
        }
        Ok(kept)
    }
}
