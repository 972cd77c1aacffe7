//! Rewrites DataFusion's logical plan of a statement, so that its tables read only the needed columns. Each
//! `fhirpath()` call gets as arguments the columns that its expression reads. Each table gets the leaves that the plan
//! uses.
//!
//! The rewrite runs once, before DataFusion's optimizer rules. If a statement uses a whole column, all leaves of the
//! column are read. For `name[1]['family']` only the leaf is read. Later, DataFusion's projection decides which root
//! columns a scan yields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, JoinType, Result, ScalarValue, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction};
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, TableScan, TableScanBuilder};

use super::function::{COLUMN, Called, OverColumns};
use super::tables::{RowTable, Tables, is_nested, origin};
use crate::fhir::TypeId;
use crate::fhir::storage::{EVERYTHING, LeafSet};
use crate::lake::scan::{ScanRequest, ScopedTable, Watch, expression_over, is_predicate};
use crate::views::ViewTable;

/// A column that has a value in every stored row. If it is null, an outer join has added the row.
const ID: &str = "id";

/// What a statement reads, by the resource type of the table.
type Asked = HashMap<TypeId, OfTable>;

/// What a statement reads of one table.
#[derive(Clone, Debug, Default)]
struct OfTable {
    leaves: LeafSet,
    /// Whether the statement evaluates FHIRPath expressions over the rows.
    is_costly: bool,
}

/// Rewrites a plan, so that its tables read only the needed leaves. If there is a watch, the watch will record what the
/// tables read.
pub(super) fn rewrite(plan: LogicalPlan, tables: &Tables, watch: Option<&Arc<Watch>>) -> Result<LogicalPlan> {
    let mut guarded = false;
    plan.apply_with_subqueries(|node| {
        let outer = |join: JoinType| matches!(join, JoinType::Left | JoinType::Right | JoinType::Full);
        guarded |= matches!(node, LogicalPlan::Join(join) if outer(join.join_type));
        Ok(TreeNodeRecursion::Continue)
    })?;
    let plan = plan
        .transform_up_with_subqueries(|node| give_columns(node, tables, guarded))?
        .data;
    let mut asked = Asked::default();
    for field in plan.schema().fields() {
        whole(field, &mut asked);
    }
    plan.apply_with_subqueries(|node| {
        leaves_of(node, &mut asked)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    let narrowed = plan.transform_up_with_subqueries(|node| narrow(node, &asked, watch))?;
    Ok(narrowed.data)
}

/// Gives each `fhirpath()` call of a node the columns that its expression reads. Adds to a filter the conditions that a
/// scan can decide (`necessary`).
fn give_columns(node: LogicalPlan, tables: &Tables, guarded: bool) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&node.inputs());
    let given = node.map_expressions(|expression| {
        expression.transform_up(|expression| match call(&expression) {
            Some((called, arguments)) => {
                let given = over_columns(called, arguments, &schema, tables, guarded)?;
                Ok(Transformed::yes(given))
            }
            None => Ok(Transformed::no(expression)),
        })
    })?;
    given.map_data(|node| match node {
        LogicalPlan::Filter(mut filter) => {
            let known = necessary(&filter.predicate)?;
            filter.predicate = known.into_iter().fold(filter.predicate, Expr::and);
            Ok(LogicalPlan::Filter(filter))
        }
        other => Ok(other),
    })
}

/// If the expression is a `fhirpath()` call, returns the called function and its arguments. Otherwise returns `None`.
fn call(expression: &Expr) -> Option<(&Called, &[Expr])> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expression else {
        return None;
    };
    Some((func.inner().downcast_ref::<Called>()?, args))
}

fn over_columns(
    called: &Called,
    arguments: &[Expr],
    schema: &DFSchema,
    tables: &Tables,
    guarded: bool,
) -> Result<Expr> {
    let [Expr::Column(row), Expr::Literal(text, _)] = arguments else {
        return plan_err!("fhirpath() needs a table's own row and its expression as a text between quotes");
    };
    let text = text.try_as_str().flatten().unwrap_or_default();
    let field = schema.field_from_column(row)?;
    let (type_id, view) = called.view(field, text)?;
    let mut names: Vec<String> = Vec::new();
    if guarded {
        names.push(ID.to_owned());
    }
    for field in tables.stored(type_id, view.leaves()).fields() {
        if !names.contains(field.name()) {
            names.push(field.name().clone());
        }
    }
    let argument = |name: &String| {
        let column = Column::new(row.relation.clone(), name);
        if schema.has_column(&column) {
            Ok(Expr::Column(column))
        } else {
            plan_err!("fhirpath() needs the row of a table, and this query takes only some of its columns")
        }
    };
    let given: Vec<Expr> = names.iter().map(argument).collect::<Result<_>>()?;
    let function = OverColumns::new(called, (type_id, view), arguments, text, names, guarded);
    Ok(ScalarUDF::from(function).call(given))
}

/// If the expression is a call of an `OverColumns`, returns this function and its arguments. Otherwise returns `None`.
fn given(expression: &Expr) -> Option<(&OverColumns, &[Expr])> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expression else {
        return None;
    };
    Some((func.inner().downcast_ref::<OverColumns>()?, args))
}

/// Records the leaves that a node's expressions read.
fn leaves_of(node: &LogicalPlan, asked: &mut Asked) -> Result<()> {
    let inputs = node.inputs();
    let schema = merge_schema(&inputs);
    // The operators in this list use only the columns in their expressions. Any other operator uses all columns of its
    // inputs.
    let says = matches!(
        node,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Subquery(_)
            | LogicalPlan::TableScan(_)
    );
    if !says {
        for field in schema.fields() {
            whole(field, asked);
        }
    }
    node.apply_expressions(|expression| {
        walk(expression, &schema, asked)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn walk(expression: &Expr, schema: &DFSchema, asked: &mut Asked) -> Result<()> {
    if let Some((function, arguments)) = given(expression) {
        let of_table = asked.entry(function.type_id()).or_default();
        of_table.is_costly = true;
        of_table.leaves.extend(function.view().leaves().iter().cloned());
        if !arguments.is_empty() {
            of_table.leaves.insert(ID.to_owned());
        }
        return Ok(());
    }
    // `necessary` has added this predicate for the scan. It was derived from a `fhirpath()` call in the same filter,
    // and reads no other leaves than this call. So there is nothing to record.
    if is_predicate(expression) {
        return Ok(());
    }
    if let Expr::OuterReferenceColumn(field, _) = expression {
        whole(field, asked);
        return Ok(());
    }
    let mut path = Vec::new();
    if let Some(column) = chain(expression, &mut path)
        && let Ok(field) = schema.field_from_column(column)
        && let Some((type_id, root)) = origin(field)
    {
        path.push(root.to_owned());
        path.reverse();
        if is_nested(field.data_type()) {
            path.push(EVERYTHING.to_owned());
        }
        asked.entry(type_id).or_default().leaves.insert(path.join("."));
        // The indexes in the path are expressions, which may read columns of their own.
        return indices(expression, schema, asked);
    }
    expression.apply_children(|child| {
        walk(child, schema, asked)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Returns the column at the beginning of a path such as `name[1]['family']`. Adds the names of the path's fields to
/// `path`, the last one first. Returns `None` if the expression is not such a path.
fn chain<'e>(expression: &'e Expr, path: &mut Vec<String>) -> Option<&'e Column> {
    match expression {
        Expr::Column(column) => Some(column),
        Expr::ScalarFunction(ScalarFunction { func, args }) => match (func.name(), args.as_slice()) {
            ("get_field", [of, fields @ ..]) => {
                for field in fields.iter().rev() {
                    let Expr::Literal(ScalarValue::Utf8(Some(name)), _) = field else {
                        return None;
                    };
                    path.push(name.clone());
                }
                chain(of, path)
            }
            ("array_element", [of, _]) => chain(of, path),
            _ => None,
        },
        _ => None,
    }
}

/// Records the leaves that the index expressions of a path read.
fn indices(expression: &Expr, schema: &DFSchema, asked: &mut Asked) -> Result<()> {
    let Expr::ScalarFunction(ScalarFunction { args, .. }) = expression else {
        return Ok(());
    };
    let Some((of, others)) = args.split_first() else {
        return Ok(());
    };
    for other in others {
        walk(other, schema, asked)?;
    }
    indices(of, schema, asked)
}

/// Records that all leaves of a column are read.
fn whole(field: &Field, asked: &mut Asked) {
    if let Some((type_id, root)) = origin(field) {
        let leaf = if is_nested(field.data_type()) {
            format!("{root}.{EVERYTHING}")
        } else {
            root.to_owned()
        };
        asked.entry(type_id).or_default().leaves.insert(leaf);
    }
}

/// Replaces the provider of a type's table by one that reads the needed leaves, and passes the watch to the provider of
/// a view. Any other node gets its schema computed again from its new inputs.
fn narrow(node: LogicalPlan, asked: &Asked, watch: Option<&Arc<Watch>>) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::TableScan(scan) = node else {
        return node.recompute_schema().map(Transformed::yes);
    };
    let provider = source_as_provider(&scan.source)?;
    if let (Some(view), Some(watch)) = (provider.downcast_ref::<ViewTable>(), watch) {
        let source = provider_as_source(Arc::new(view.watched(watch)));
        return Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan })));
    }
    let Some(rows) = provider.downcast_ref::<RowTable>() else {
        return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
    };
    let wanted = asked.get(&rows.table.type_id()).cloned().unwrap_or_default();
    let table = match watch {
        Some(watch) => rows.table.clone().watched(watch),
        None => rows.table.clone(),
    };
    let provider = lake_provider(&table, wanted)?;
    let scan = TableScanBuilder::new(scan.table_name, provider_as_source(provider))
        .with_filters(scan.filters)
        .with_fetch(scan.fetch)
        .build()?;
    Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
}

/// Returns a provider of the rows of a table with the needed leaves. The provider keeps the table's files open on disk
/// until it is dropped. So it can read a file even if the file is removed in the meantime.
fn lake_provider(table: &ScopedTable, wanted: OfTable) -> Result<Arc<dyn TableProvider>> {
    let table = table.held(None)?;
    Ok(table.provider(ScanRequest {
        leaves: wanted.leaves,
        is_costly: wanted.is_costly,
        ..ScanRequest::default()
    }))
}

/// Returns conditions that follow from the `fhirpath()` calls in a filter and that a scan can decide. The filter itself
/// still has to be applied.
fn necessary(filter: &Expr) -> Result<Vec<Expr>> {
    let mut found = Vec::new();
    for part in split_conjunction(filter) {
        let mut functions: Vec<Expr> = Vec::new();
        let of_column = part.clone().transform_up(|expression| {
            if given(&expression).is_none() {
                return Ok(Transformed::no(expression));
            }
            if !functions.contains(&expression) {
                functions.push(expression);
            }
            // No relation of a statement has this name, so this column differs from all columns of the statement.
            Ok(Transformed::yes(Expr::Column(Column::new(Some("fhirpath()"), COLUMN))))
        })?;
        let is_alone = of_column.data.column_refs().len() == 1;
        if let [only] = functions.as_slice()
            && let Some((function, arguments)) = given(only).filter(|(_, arguments)| is_alone && !arguments.is_empty())
            && let Some(predicate) = function.view().sought(&of_column.data)
        {
            found.push(expression_over(predicate, arguments.to_vec()));
        }
    }
    Ok(found)
}
