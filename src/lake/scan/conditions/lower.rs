//! Lowers the filters of a plan: turns them into conditions that the scan checks on statistics, conditions that it
//! decides on dictionary codes, and predicates that it evaluates on rows. Only this file translates expressions for the
//! scan.
//!
//! A [`Predicate`] states its necessary condition itself. For other expressions this file finds a necessary condition
//! in comparisons of texts, timestamps, integers and decimals with literals, if no list is above the compared element.
//! If this condition is not exact, the scan also evaluates the expression over the columns that it names.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;

use super::super::predicate::{Predicate, predicate};
use super::super::table::ScopedTable;
use crate::columns::conditions::{Alternative, Decisive, IdSet, ItemMatch, LeafTest, Necessary, Prune};
use crate::fhir::storage::{EVERYTHING, LeafSet};

/// The system columns for which dictionary codes decide whether they have one of several texts.
const TEXTS: [&str; 2] = ["id", "patient"];
/// The name of DataFusion's function that reads a field of a struct.
const GET_FIELD: &str = "get_field";
/// The maximum number of texts that a label lists. For more texts, it shows only their number.
const TEXTS_SHOWN: usize = 4;

/// The filters of a scan, in the form in which the scan applies them.
#[derive(Clone, Debug, Default)]
pub(in crate::lake::scan) struct Lowered {
    /// The predicates that the scan evaluates, in this order, on the rows that meet all other conditions.
    pub(in crate::lake::scan) predicates: Vec<Arc<dyn Predicate>>,
    /// Conditions that dictionary codes decide exactly. The scan decides them before any predicate. A row must meet all
    /// of them.
    pub(in crate::lake::scan) items: Vec<ItemMatch>,
    /// Lists of alternatives that dictionary codes decide exactly. A row must meet one alternative of each list.
    pub(in crate::lake::scan) either: Vec<Vec<Alternative>>,
    /// The condition that the scan checks on statistics.
    pub(in crate::lake::scan) prune: Prune,
    /// The condition that decides all `predicates` in row groups where no row meets a [`Prune::Present`] of it. `None`
    /// if there is none, because the scan must evaluate a predicate in every row group.
    pub(in crate::lake::scan) sufficient: Option<Decisive>,
    /// Late predicates: their necessary condition is known only after other plans have run. [`Lowered::settled`] adds
    /// the conditions then.
    pub(in crate::lake::scan) late: Vec<Arc<dyn Predicate>>,
}

/// Returns `Exact` if the scan applies a filter itself, and `Unsupported` otherwise. The scan applies a filter that is
/// not volatile and names only these columns. A filter that is no predicate must name at least one column.
pub(in crate::lake::scan) fn support(filter: &Expr, columns: &Schema) -> TableProviderFilterPushDown {
    let named = filter.column_refs();
    let known = named.iter().all(|column| columns.index_of(&column.name).is_ok());
    let is_of_rows = predicate(filter).is_some() || !named.is_empty();
    if known && is_of_rows && !filter.is_volatile() {
        TableProviderFilterPushDown::Exact
    } else {
        TableProviderFilterPushDown::Unsupported
    }
}

impl Lowered {
    /// Lowers the filters of a scan that reads these leaves of a table.
    pub(in crate::lake::scan) fn of(
        filters: &[Expr],
        table: &ScopedTable,
        leaves: &LeafSet,
        state: &dyn Session,
    ) -> Result<Lowered> {
        let mut lowered = Lowered::default();
        let (mut prune, mut later) = (Vec::new(), Vec::new());
        let mut sufficient: Vec<Option<Decisive>> = Vec::new();
        let columns = table.schema(leaves);
        for filter in filters.iter().flat_map(split_conjunction) {
            let necessary = match predicate(filter) {
                Some(predicate) if predicate.is_late() => {
                    lowered.late.push(predicate.clone());
                    continue;
                }
                Some(predicate) => {
                    let necessary = predicate.necessary().clone();
                    // Put predicates behind the other expressions, which cost less and so are evaluated first.
                    let decided = necessary.exact || predicate.is_decided_above();
                    later.extend((!decided).then(|| predicate.clone()));
                    if !necessary.exact {
                        let decides = necessary.decides.clone();
                        sufficient.push(decides.filter(|_| !predicate.is_decided_above()));
                    }
                    necessary
                }
                None => {
                    let necessary = necessary(filter, &columns);
                    if !necessary.exact {
                        let computed = Computed::new(filter, table, leaves, state)?;
                        lowered.predicates.push(Arc::new(computed));
                        sufficient.push(None);
                    }
                    necessary
                }
            };
            prune.push(necessary.prune);
            lowered.items.extend(necessary.items);
            lowered.either.extend(necessary.either);
        }
        lowered.predicates.extend(later);
        lowered.prune = Prune::all(prune);
        lowered.sufficient = Decisive::all(sufficient);
        Ok(lowered)
    }

    /// Returns these conditions with the late predicates lowered like the others, by their current necessary
    /// conditions.
    pub(in crate::lake::scan) fn settled(mut self) -> Lowered {
        for predicate in std::mem::take(&mut self.late) {
            let necessary = predicate.necessary().clone();
            self.prune = Prune::all([self.prune, necessary.prune]);
            self.items.extend(necessary.items);
            self.either.extend(necessary.either);
            if !necessary.exact {
                self.predicates.push(predicate);
                self.sufficient = None;
            }
        }
        self
    }

    /// Whether there are no conditions, so that the scan keeps every row. Late predicates do not count.
    pub(in crate::lake::scan) fn is_empty(&self) -> bool {
        self.predicates.is_empty() && self.items.is_empty() && self.either.is_empty() && self.prune == Prune::Keep
    }
}

/// Returns a necessary condition of an expression. Every row for which the expression is true meets it.
fn necessary(expression: &Expr, columns: &Schema) -> Necessary {
    if let Some(predicate) = predicate(expression) {
        return predicate.necessary().clone();
    }
    let found = match expression {
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) => texts(expr, list.iter(), columns),
        Expr::BinaryExpr(binary) => {
            let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
            match binary.op {
                Operator::And => return both(necessary(left, columns), necessary(right, columns)),
                Operator::Or => return one(necessary(left, columns), necessary(right, columns)),
                Operator::Eq => texts(left, [right], columns)
                    .or_else(|| texts(right, [left], columns))
                    .or_else(|| range(left, binary.op, right, columns)),
                operator => range(left, operator, right, columns),
            }
        }
        _ => None,
    };
    found.unwrap_or_default()
}

fn both(left: Necessary, right: Necessary) -> Necessary {
    Necessary {
        prune: Prune::all([left.prune, right.prune]),
        items: [left.items, right.items].concat(),
        either: [left.either, right.either].concat(),
        exact: left.exact && right.exact,
        ..Necessary::default()
    }
}

/// Combines the necessary conditions of both sides of an `OR`. Statistics refute the result only if they refute both
/// sides. If both sides are exact and can be written as alternatives, the result is exact, too. Otherwise only
/// statistics check it.
fn one(left: Necessary, right: Necessary) -> Necessary {
    let prune = Prune::any([left.prune.clone(), right.prune.clone()]);
    match alternatives(left).zip(alternatives(right)) {
        Some((left, right)) => Necessary {
            prune,
            either: vec![[left, right].concat()],
            exact: true,
            ..Necessary::default()
        },
        None => Necessary {
            prune,
            ..Necessary::default()
        },
    }
}

/// Returns the alternatives of an exact condition that is either a single item condition or a single list of
/// alternatives. `None` for any other condition.
fn alternatives(mut condition: Necessary) -> Option<Vec<Alternative>> {
    match (condition.items.len(), condition.either.len()) {
        _ if !condition.exact => None,
        (1, 0) => {
            let condition = condition.items.pop()?;
            Some(vec![Alternative {
                condition,
                owners: None,
            }])
        }
        (0, 1) => condition.either.pop(),
        _ => None,
    }
}

/// Returns the condition that a text column has one of these values. Dictionary codes can decide it. The column is a
/// system column of [`TEXTS`] or an element without a list above it. `None` for any other column, or if a value is no
/// text literal.
fn texts<'e>(column: &Expr, values: impl IntoIterator<Item = &'e Expr>, columns: &Schema) -> Option<Necessary> {
    let leaf: Arc<str> = match TEXTS.into_iter().find(|name| is_column(column, name)) {
        Some(system) => system.into(),
        None => single(column, columns)
            .filter(|(_, data_type)| **data_type == DataType::Utf8)?
            .0
            .into(),
    };
    let text = |value: &Expr| -> Option<Arc<str>> { Some(literal(value)?.try_as_str()??.into()) };
    let any_of: Vec<Arc<str>> = values.into_iter().map(text).collect::<Option<_>>()?;
    let label = match any_of.as_slice() {
        [only] => format!("{leaf} = '{only}'"),
        few if few.len() <= TEXTS_SHOWN => format!("{leaf} in ('{}')", few.join("', '")),
        many => format!("{leaf} in {} texts", many.len()),
    };
    let test = match any_of.as_slice() {
        [only] if &*leaf != "id" => LeafTest::Is(only.clone()),
        several => LeafTest::In(Arc::new(several.iter().collect::<IdSet>())),
    };
    Some(Necessary {
        items: vec![ItemMatch {
            leaves: vec![leaf.clone()],
            any_of: vec![vec![test]],
            label: label.into(),
        }],
        prune: Prune::Text { leaf, any_of },
        exact: true,
        ..Necessary::default()
    })
}

/// Returns the dotted path and the type of a column, or of an element below it without a list between them. `None` for
/// any other expression.
fn single<'c>(expression: &Expr, columns: &'c Schema) -> Option<(String, &'c DataType)> {
    match expression {
        Expr::Column(column) => {
            let field = columns.field_with_name(&column.name).ok()?;
            Some((column.name.clone(), field.data_type()))
        }
        Expr::ScalarFunction(call) if call.func.name() == GET_FIELD => {
            let (of, names) = call.args.split_first()?;
            let (mut path, mut data_type) = single(of, columns)?;
            for name in names {
                let (DataType::Struct(fields), name) = (data_type, literal(name)?.try_as_str()??) else {
                    return None;
                };
                data_type = fields.find(name)?.1.data_type();
                path = format!("{path}.{name}");
            }
            Some((path, data_type))
        }
        _ => None,
    }
}

/// Returns the range that a comparison with a timestamp, an integer or a decimal requires, for statistics. `None` for
/// any other comparison.
fn range(left: &Expr, operator: Operator, right: &Expr, columns: &Schema) -> Option<Necessary> {
    let ((leaf, data_type), operator, value) = match (single(left, columns), literal(right)) {
        (Some(leaf), Some(value)) => (leaf, operator, value),
        _ => (single(right, columns)?, operator.swap()?, literal(left)?),
    };
    let value = match (data_type, value) {
        (DataType::Timestamp(TimeUnit::Microsecond, _), ScalarValue::TimestampMicrosecond(Some(moment), _)) => {
            i128::from(*moment)
        }
        (DataType::Int64, ScalarValue::Int64(Some(number))) => i128::from(*number),
        (DataType::Int32, ScalarValue::Int32(Some(number))) => i128::from(*number),
        // DataFusion casts the literal, such as `5` or `5.5`, to the type of the column. So both sides usually have the
        // same scale.
        (DataType::Decimal128(_, scale), ScalarValue::Decimal128(Some(number), _, of)) if scale == of => *number,
        _ => return None,
    };
    let (from, to) = match operator {
        Operator::Eq => (Some(value), Some(value)),
        Operator::Gt => (Some(value.saturating_add(1)), None),
        Operator::GtEq => (Some(value), None),
        Operator::Lt => (None, Some(value.saturating_sub(1))),
        Operator::LtEq => (None, Some(value)),
        _ => return None,
    };
    Some(Necessary {
        prune: Prune::Range {
            leaf: leaf.into(),
            from,
            to,
        },
        ..Necessary::default()
    })
}

fn is_column(expression: &Expr, name: &str) -> bool {
    matches!(expression, Expr::Column(column) if column.name == name)
}

fn literal(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// A predicate that evaluates a DataFusion expression over the columns that the expression names.
#[derive(Debug)]
struct Computed {
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
    expression: Arc<dyn PhysicalExpr>,
}

impl Computed {
    /// Compiles an expression of a scan that reads `leaves`. The expression may name only columns of these leaves.
    fn new(filter: &Expr, table: &ScopedTable, leaves: &LeafSet, state: &dyn Session) -> Result<Computed> {
        let columns = filter.column_refs();
        let named = |leaf: &&String| {
            let root = leaf.split('.').next().unwrap_or_default();
            columns.iter().any(|column| column.name == root)
        };
        let mut read: LeafSet = leaves.iter().filter(named).cloned().collect();
        if leaves.contains(EVERYTHING) {
            read.extend(columns.iter().map(|column| format!("{}.{EVERYTHING}", column.name)));
        }
        let schema = DFSchema::try_from(table.schema(&read).as_ref().clone())?;
        let filter = unnormalize_col(filter.clone());
        Ok(Computed {
            label: filter.to_string().into(),
            leaves: read,
            necessary: Necessary::default(),
            expression: state.create_physical_expr(filter, &schema)?,
        })
    }
}

impl Predicate for Computed {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn necessary(&self) -> &Necessary {
        &self.necessary
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let value = self.expression.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(as_boolean_array(&value)?.clone())
    }
}
