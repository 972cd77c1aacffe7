//! Replaces the functions of a plan by bounded ones, and checks the constants of a plan.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, Result, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};

use super::account::Account;
use super::function::bounded;
use super::joined;
use super::sizes::of_scalar;

/// The number of rows in a batch. A constant in the result of a statement is copied into each of them.
const BATCH: usize = 8192;
/// Constants with fewer bytes are not counted.
const SMALL: usize = 1 << 10;

/// The maximum number of values or bytes in a type of fixed size. Even a null of such a type takes their memory.
const MAX_FIXED: usize = 4096;

/// Replaces the functions and the operators `||` of a plan by bounded ones.
pub(in crate::sql) fn bound(plan: LogicalPlan, account: &Arc<Account>) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        // Conditions in a scan have been bounded before they were pushed down.
        if matches!(node, LogicalPlan::TableScan(_)) {
            return Ok(Transformed::no(node));
        }
        let schema = merge_schema(&node.inputs());
        let given = node.map_expressions(|expression| {
            expression.transform_up(|expression| {
                check_type(&expression, &schema)?;
                Ok(replaced(expression, &schema, account))
            })
        })?;
        if !given.transformed {
            return Ok(given);
        }
        given.data.recompute_schema().map(Transformed::yes)
    })?;
    Ok(plan.data)
}

fn replaced(expression: Expr, schema: &DFSchema, account: &Arc<Account>) -> Transformed<Expr> {
    let call = match expression {
        Expr::ScalarFunction(call) => call,
        Expr::BinaryExpr(binary) if binary.op == Operator::StringConcat => match joined::call(binary, schema) {
            Ok(call) => call,
            Err(binary) => return Transformed::no(Expr::BinaryExpr(binary)),
        },
        other => return Transformed::no(other),
    };
    match bounded(&call.func, account) {
        Some(func) => Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args: call.args })),
        None => Transformed::no(Expr::ScalarFunction(call)),
    }
}

/// Refuses a cast to a type of fixed size that is too large.
fn check_type(expression: &Expr, schema: &DFSchema) -> Result<()> {
    let casts = match expression {
        Expr::Cast(_) | Expr::TryCast(_) => true,
        Expr::ScalarFunction(call) => call.name().contains("cast"),
        _ => false,
    };
    if casts
        && expression
            .get_type(schema)
            .is_ok_and(|data_type| fixed_size(&data_type) > MAX_FIXED)
    {
        return plan_err!("a type of fixed size may have at most {MAX_FIXED} values");
    }
    Ok(())
}

/// Returns the number of values or bytes that each value of a type has, whether it is null or not.
fn fixed_size(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(size) => usize::try_from(*size).unwrap_or(0),
        DataType::FixedSizeList(item, size) => {
            let size = usize::try_from(*size).unwrap_or(0);
            size.saturating_mul(fixed_size(item.data_type()).max(1))
        }
        DataType::Struct(fields) => fields
            .iter()
            .map(|field| fixed_size(field.data_type()))
            .fold(0, usize::saturating_add),
        DataType::List(item) | DataType::LargeList(item) => fixed_size(item.data_type()),
        _ => 0,
    }
}

/// Refuses a plan with constants that take more than the memory when they are copied into the rows of a batch.
pub(in crate::sql) fn check_constants(plan: &LogicalPlan, account: &Account) -> Result<()> {
    let mut bytes = 0_usize;
    plan.apply_with_subqueries(|node| {
        let rows = if node.inputs().into_iter().all(is_single) {
            1
        } else {
            BATCH
        };
        let mut count = |expression: &Expr| {
            if let Expr::Literal(value, _) = expression {
                let size = of_scalar(value);
                if size >= SMALL {
                    bytes = bytes.saturating_add(size.saturating_mul(rows));
                }
            }
        };
        for expression in node.expressions() {
            if matches!(node, LogicalPlan::Projection(_)) {
                count(&expression.clone().unalias());
            }
            expression.apply(|part| {
                if let Expr::Case(case) = part {
                    let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
                    results.chain(case.else_expr.as_deref()).for_each(&mut count);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if bytes > account.memory() {
        let problem = "the constants of the statement are too large for the rows of a batch";
        return Err(DataFusionError::ResourcesExhausted(problem.to_owned()));
    }
    Ok(())
}

/// Whether a plan yields at most one row.
fn is_single(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Values(values) => values.values.len() <= 1,
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => is_single(&projection.input),
        LogicalPlan::Filter(filter) => is_single(&filter.input),
        LogicalPlan::Sort(sort) => is_single(&sort.input),
        LogicalPlan::Limit(limit) => is_single(&limit.input),
        LogicalPlan::SubqueryAlias(alias) => is_single(&alias.input),
        _ => false,
    }
}
