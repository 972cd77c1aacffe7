//! Views as nodes of logical plans: the input is resources, and the output is rows. The rows of one view have the
//! view's columns. For several views over the same resources, each view has one column, which holds its rows as
//! lists.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::super::output::stop::Stop;
use super::super::view::View;
use super::exec::ViewExec;
use super::several::{self, ViewsExec};

/// A node that evaluates one view or several over the resources of a table.
#[derive(Clone, Debug)]
pub(in crate::views) struct ViewNode {
    input: LogicalPlan,
    views: Arc<[Arc<View>]>,
    shape: Shape,
    /// Whether the node applies each view's `where`. If not, the scan applies it.
    filters: bool,
    stop: Stop,
    schema: DFSchemaRef,
}

/// The form of the node's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Rows with the columns of the only view.
    Columns,
    /// Lists of rows, one column per view, with at most this many rows of each view.
    Lists { limit: Option<usize> },
}

impl ViewNode {
    /// Returns a plan that yields the rows of a view.
    pub(in crate::views) fn of_one(
        input: LogicalPlan,
        view: &Arc<View>,
        filters: bool,
        stop: &Stop,
    ) -> Result<LogicalPlan> {
        let schema = view.schema.clone();
        ViewNode::plan(input, Arc::new([view.clone()]), Shape::Columns, filters, stop, &schema)
    }

    /// Returns a plan that yields the rows of several views, at most `limit` of each view.
    pub(in crate::views) fn of_several(
        input: LogicalPlan,
        views: &[Arc<View>],
        filters: bool,
        limit: Option<usize>,
    ) -> Result<LogicalPlan> {
        let (schema, shape) = (several::schema(views), Shape::Lists { limit });
        ViewNode::plan(input, views.into(), shape, filters, &Stop::default(), &schema)
    }

    fn plan(
        input: LogicalPlan,
        views: Arc<[Arc<View>]>,
        shape: Shape,
        filters: bool,
        stop: &Stop,
        schema: &SchemaRef,
    ) -> Result<LogicalPlan> {
        let schema = Arc::new(DFSchema::try_from(schema.as_ref().clone())?);
        let stop = stop.clone();
        Ok(LogicalPlan::Extension(Extension {
            node: Arc::new(ViewNode {
                input,
                views,
                shape,
                filters,
                stop,
                schema,
            }),
        }))
    }
}

/// Nodes are compared by the memory addresses of their views, because each view object is part of one plan only.
impl PartialEq for ViewNode {
    fn eq(&self, other: &ViewNode) -> bool {
        Arc::ptr_eq(&self.views, &other.views)
            && (self.shape, self.filters) == (other.shape, other.filters)
            && self.input == other.input
    }
}

impl Eq for ViewNode {}

impl PartialOrd for ViewNode {
    fn partial_cmp(&self, other: &ViewNode) -> Option<std::cmp::Ordering> {
        self.input
            .partial_cmp(&other.input)
            .filter(|order| order.is_ne() || self == other)
    }
}

impl Hash for ViewNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.views).hash(state);
        self.input.hash(state);
    }
}

impl UserDefinedLogicalNodeCore for ViewNode {
    fn name(&self) -> &str {
        match self.shape {
            Shape::Columns => "View",
            Shape::Lists { .. } => "Views",
        }
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", UserDefinedLogicalNodeCore::name(self))?;
        for (place, view) in self.views.iter().enumerate() {
            let between = if place == 0 { "" } else { ", " };
            write!(f, "{between}{}", several::label(place, view))?;
            if let Some(text) = view.filter_text().filter(|_| self.filters) {
                write!(f, " where [{text}]")?;
            }
        }
        match self.shape {
            Shape::Lists { limit: Some(limit) } => write!(f, ", limit={limit} each"),
            _ => Ok(()),
        }
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<ViewNode> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(ViewNode { input, ..self.clone() }),
            _ => internal_err!("a view has one input"),
        }
    }

    /// A select tree is evaluated as a whole, so the node needs all columns of its input.
    fn necessary_children_exprs(&self, _: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(0..self.input.schema().fields().len()).collect()])
    }
}

/// Turns view nodes into operators.
pub(in crate::views) struct Tables;

#[async_trait]
impl ExtensionPlanner for Tables {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<ViewNode>() else {
            return Ok(None);
        };
        let (filters, views) = (node.filters, node.views.as_ref());
        Ok(Some(match (inputs, node.shape, views) {
            ([input], Shape::Columns, [view]) => {
                let (input, stop) = (input.clone(), node.stop.clone());
                Arc::new(ViewExec::new(view.clone(), input, filters, stop))
            }
            ([input], Shape::Lists { limit }, _) => {
                Arc::new(ViewsExec::new(node.views.clone(), input.clone(), filters, limit))
            }
            _ => return internal_err!("a view has one input"),
        }))
    }
}
