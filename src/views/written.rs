//! What a plan of views says to another process: each view by its definition, the moment of its `now()` and which of
//! its columns are asked for. It is read and checked again there, as any definition is.

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

/// A view with its written definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenView {
    /// The ViewDefinition, as JSON.
    pub definition: Arc<[u8]>,
    /// What `now()` is in its rows.
    pub now: DateTime<Utc>,
    /// The columns that are asked for, by their places in the definition, in this order. `None` for all.
    pub columns: Option<Arc<[usize]>>,
}

/// A predicate of a plan of views.
#[derive(Debug)]
pub enum WrittenPredicate {
    /// The `where` of any of these views.
    Where(Vec<WrittenView>),
    /// What a filter over a view's columns says of resources.
    Sought(WrittenView, Box<Expr>),
}

impl View {
    /// What it was made of.
    pub fn written(&self) -> WrittenView {
        WrittenView {
            definition: self.definition.clone(),
            now: self.now,
            columns: self.projected.clone(),
        }
    }

    /// The view that was written so.
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

/// The predicate of a view. `None` for other predicates.
pub fn write_predicate(predicate: &dyn Predicate) -> Option<WrittenPredicate> {
    let predicate = predicate as &dyn Any;
    if let Some(of_views) = predicate.downcast_ref::<Where>() {
        let views = of_views.views().iter().map(|view| view.written());
        return Some(WrittenPredicate::Where(views.collect()));
    }
    let sought = predicate.downcast_ref::<Sought>()?;
    let (view, filter) = sought.source();
    Some(WrittenPredicate::Sought(view.clone(), Box::new(filter.clone())))
}

/// The predicate that was written so. `None` if a filter tells nothing of the view's resources.
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
