//! The form in which the views of a plan are passed to another process: each view's definition, its value of `now()`,
//! and the requested columns. The other process reads and checks the definitions like any others.

use std::any::Any;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::logical_expr::Expr;

use super::error::ViewError;
use super::plan::predicate::{self, Where};
use super::plan::sought::Sought;
use super::view::View;
use crate::lake::scan::Predicate;
use crate::terminology::Terminology;

/// A view in the form for another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenView {
    /// The ViewDefinition, as JSON.
    pub definition: Arc<[u8]>,
    /// The value of `now()` in the view's rows.
    pub now: DateTime<Utc>,
    /// The requested columns, by their indexes in the definition, in the order of the output. `None` stands for all
    /// columns.
    pub columns: Option<Arc<[usize]>>,
}

/// A predicate of a plan of views, in the form for another process.
#[derive(Debug)]
pub enum WrittenPredicate {
    /// The predicate that is true of a resource if at least one of these views keeps it by its `where`.
    Where(Vec<WrittenView>),
    /// The predicate on resources that follows from a filter on the view's columns.
    Sought(WrittenView, Box<Expr>),
}

impl View {
    /// Returns the view in the form for another process.
    pub fn written(&self) -> WrittenView {
        WrittenView {
            definition: self.definition.clone(),
            now: self.now,
            columns: self.projected.clone(),
        }
    }

    /// Reads a view from another process. Keeps all columns if the index of a requested column is invalid.
    pub fn read(written: &WrittenView, terminology: Option<Arc<Terminology>>) -> Result<View, ViewError> {
        let view = View {
            now: written.now,
            ..View::parse_with(&written.definition, terminology)?
        };
        Ok(match &written.columns {
            Some(columns) if columns.iter().all(|at| *at < view.columns().len()) => view.project(columns),
            _ => view,
        })
    }
}

/// Returns a predicate of views in the form for another process. `None` for other predicates.
pub fn write_predicate(predicate: &dyn Predicate) -> Option<WrittenPredicate> {
    let predicate = predicate as &dyn Any;
    if let Some(of_views) = predicate.downcast_ref::<Where>() {
        let views = of_views.views().iter().map(|view| view.written());
        return Some(WrittenPredicate::Where(views.collect()));
    }
    let sought = predicate.downcast_ref::<Sought>()?;
    let (view, filter) = sought.source();
    Some(WrittenPredicate::Sought(view.written(), Box::new(filter.clone())))
}

/// Reads a predicate from another process. `None` if nothing about the view's resources follows from the filter.
pub fn read_predicate(
    written: &WrittenPredicate,
    terminology: Option<&Arc<Terminology>>,
) -> Result<Option<Arc<dyn Predicate>>, ViewError> {
    let read = |view: &WrittenView| View::read(view, terminology.cloned());
    match written {
        WrittenPredicate::Where(views) => {
            let views = views.iter().map(|view| Ok(read(view)?.for_run()));
            Ok(Some(predicate::of(&views.collect::<Result<Vec<_>, ViewError>>()?)))
        }
        WrittenPredicate::Sought(view, filter) => Ok(read(view)?.sought(filter)),
    }
}
