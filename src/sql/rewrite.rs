//! Rewrites DataFusion's plan of a statement, so that it reads only the columns that the statement names. `fhirpath()`
//! gets the columns of its expression, and each table gets the leaves that the plan uses.
//!
//! It runs once, before any rule of DataFusion. If a statement names a column alone, the whole column is read. For
//! `name[1]['family']` only the leaf is read. DataFusion's projection decides which root columns a scan yields.

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

/// A column that every row has.
const ID: &str = "id";

/// The columns that a statement reads of tables, by type.
type Asked = HashMap<TypeId, OfTable>;

/// What a statement reads of one table.
#[derive(Clone, Debug, Default)]
struct OfTable {
    leaves: LeafSet,
    /// Whether the statement evaluates FHIRPath expressions over the rows.
    is_costly: bool,
}

/// The plan over providers that read only the needed leaves. The watch, if there is one, watches the tables.
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

/// Gives each `fhirpath()` of a node the columns that its expression reads.
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

/// The call of one of our functions, if the expression is one.
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

/// The function over columns, if an expression is one.
fn given(expression: &Expr) -> Option<(&OverColumns, &[Expr])> {
    let Expr::ScalarFunction(ScalarFunction { func, args }) = expression else {
        return None;
    };
    Some((func.inner().downcast_ref::<OverColumns>()?, args))
}

/// Collects the leaves that a node's expressions read.
fn leaves_of(node: &LogicalPlan, asked: &mut Asked) -> Result<()> {
    let inputs = node.inputs();
    let schema = merge_schema(&inputs);
    // The expressions of these operators show which columns they use. Any other operator uses all its input.
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
    // The scan decides this condition. The function call beside it reads the columns.
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
        // An index selects one element of the list.
        return indices(expression, schema, asked);
    }
    expression.apply_children(|child| {
        walk(child, schema, asked)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The column to which a chain of fields and indexes belongs. `path` gets the fields' names, the last first.
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

/// Collects the leaves that the indexes in a chain read.
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

/// Records that a column is read completely.
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

/// Replaces a table by a provider of the requested leaves, and updates the types of the plan above.
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

/// The rows of a table with these leaves. The table's files stay open until the reader is done.
fn lake_provider(table: &ScopedTable, wanted: OfTable) -> Result<Arc<dyn TableProvider>> {
    let table = table.held(None)?;
    Ok(table.provider(ScanRequest {
        leaves: wanted.leaves,
        is_costly: wanted.is_costly,
        ..ScanRequest::default()
    }))
}

/// The conditions of a filter that the scan can use, derived from FHIRPath expressions.
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
            // A column of the statement may have the same name, but not the same relation.
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
