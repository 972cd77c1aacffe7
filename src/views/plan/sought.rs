//! Pushes conditions on a view's columns down to its resources. Builds a FHIRPath expression that is true of every
//! resource with a matching row, and derives the conditions that statistics and dictionary codes can decide.
//!
//! Example: the column `code` is `code.coding.code.first()` below `forEach: component`. Then `code = '8480-6'`
//! becomes `component.exists(code.coding.code.first() = '8480-6')`. The filter must still be evaluated on the rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use chrono::{Days, NaiveDate};
use datafusion::common::{Column as Named, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, Operator};

use super::super::definition::column::Column;
use super::super::definition::kind::Kind;
use super::super::definition::sql_type::SqlType;
use super::super::view::{Cell, Select, Steps, View};
use crate::columns::conditions::{Necessary, Prune};
use crate::fhir::storage::LeafSet;
use crate::fhir::temporal::Temporal;
use crate::fhirpath::{CompileOptions, Constant, ItemType, System, necessary};
use crate::lake::scan::Predicate;

/// The maximum number of values of an `IN` that become part of the expression.
const MAX_VALUES: usize = 64;
/// The number of microseconds in a day.
const DAY: i64 = 86_400_000_000;

/// A predicate on resources: whether a resource may have rows that meet a filter on a view's columns.
#[derive(Debug)]
pub(in crate::views) struct Sought {
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
    /// The view, and the filter on its columns.
    source: (View, Expr),
}

impl Sought {
    /// Returns the predicate that follows from a filter on the view's columns. `None` if this predicate would not let a
    /// scan skip anything.
    pub(in crate::views) fn of(view: &View, filter: &Expr) -> Option<Sought> {
        let text = condition(view, filter)?;
        let options = CompileOptions {
            json_names: true,
            constants: view.constants.as_ref().clone(),
            ..CompileOptions::default()
        };
        let necessary = necessary(&text, view.resource, &options).ok()??;
        let tells = necessary.prune != Prune::Keep || !necessary.items.is_empty();
        tells.then(|| Sought {
            label: format!("for {filter}").into(),
            leaves: LeafSet::new(),
            necessary,
            source: (view.clone(), filter.clone()),
        })
    }

    /// Returns the view, and the filter on its columns.
    pub(in crate::views) fn source(&self) -> &(View, Expr) {
        &self.source
    }
}

impl View {
    /// Returns the predicate on resources that follows from a filter on the view's columns. `None` if this predicate
    /// would not let a scan skip anything.
    pub fn sought(&self, filter: &Expr) -> Option<Arc<dyn Predicate>> {
        Some(Arc::new(Sought::of(self, filter)?))
    }
}

impl Predicate for Sought {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn necessary(&self) -> &Necessary {
        &self.necessary
    }

    /// The filter above the view decides which rows match.
    fn is_decided_above(&self) -> bool {
        true
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::from(vec![true; batch.num_rows()]))
    }
}

/// Returns a FHIRPath expression that is true of each resource with a row that meets the filter. `None` if there is
/// no such expression.
fn condition(view: &View, filter: &Expr) -> Option<String> {
    if let Some((at, values)) = choice(view, filter) {
        return compared(view, at, Operator::Eq, &values);
    }
    match filter {
        Expr::BinaryExpr(binary) => {
            let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
            match binary.op {
                Operator::Or => Some(format!("({}) or ({})", condition(view, left)?, condition(view, right)?)),
                Operator::And => Some(format!(
                    "({}) and ({})",
                    condition(view, left)?,
                    condition(view, right)?
                )),
                operator => match (column(view, left), column(view, right)) {
                    (Some(at), None) => compared(view, at, operator, &[literal(right)?]),
                    (None, Some(at)) => compared(view, at, operator.swap()?, &[literal(left)?]),
                    _ => None,
                },
            }
        }
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) if list.len() <= MAX_VALUES => {
            let values: Vec<&ScalarValue> = list.iter().map(literal).collect::<Option<_>>()?;
            compared(view, column(view, expr)?, Operator::Eq, &values)
        }
        Expr::Between(between) if !between.negated => {
            let at = column(view, &between.expr)?;
            let low = compared(view, at, Operator::GtEq, &[literal(&between.low)?])?;
            let high = compared(view, at, Operator::LtEq, &[literal(&between.high)?])?;
            Some(format!("({low}) and ({high})"))
        }
        Expr::IsNotNull(inner) => {
            let at = column(view, inner)?;
            // A collection without values is an empty list, which is not null. So nothing follows from the filter.
            if view.columns[at].collection {
                return None;
            }
            everywhere(view, at, &|cell| Some(format!("({}).exists()", text(view, cell)?)))
        }
        Expr::Column(_) | Expr::IsTrue(_) | Expr::Not(_) | Expr::IsFalse(_) => {
            let (inner, value) = match filter {
                Expr::IsTrue(inner) => (inner.as_ref(), true),
                Expr::Not(inner) | Expr::IsFalse(inner) => (inner.as_ref(), false),
                other => (other, true),
            };
            let value = ScalarValue::Boolean(Some(value));
            compared(view, column(view, inner)?, Operator::Eq, &[&value])
        }
        _ => None,
    }
}

/// Reads a filter that is a chain of `or` whose parts all compare the same column with a value for equality. Returns
/// the index of the column and the values. `None` for any other filter.
fn choice<'f>(view: &View, filter: &'f Expr) -> Option<(usize, Vec<&'f ScalarValue>)> {
    let Expr::BinaryExpr(binary) = filter else { return None };
    let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
    match binary.op {
        Operator::Or => {
            let ((at, mut values), (other, more)) = (choice(view, left)?, choice(view, right)?);
            values.extend(more);
            (at == other && values.len() <= MAX_VALUES).then_some((at, values))
        }
        Operator::Eq => match (column(view, left), column(view, right)) {
            (Some(at), None) => Some((at, vec![literal(right)?])),
            (None, Some(at)) => Some((at, vec![literal(left)?])),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the index of the column that an expression names, if it names one. Ignores a cast of a date, a timestamp
/// or an integer.
fn column(view: &View, expression: &Expr) -> Option<usize> {
    match expression {
        Expr::Column(Named { name, .. }) => view.columns.iter().position(|column| column.name == *name),
        Expr::Cast(cast) => column(view, &cast.expr).filter(|at| {
            let sql = view.columns[*at].sql;
            matches!(sql, SqlType::Date | SqlType::Timestamp { .. } | SqlType::Integer)
        }),
        _ => None,
    }
}

fn literal(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// Returns a FHIRPath expression on a resource. It compares a column with each of the values, and is true if one of the
/// comparisons is true.
fn compared(view: &View, at: usize, operator: Operator, values: &[&ScalarValue]) -> Option<String> {
    let column = &view.columns[at];
    if column.collection {
        return None;
    }
    let of_cell = |cell: &Cell| {
        let path = text(view, cell)?;
        if let Some(one_of) = texts(column, cell, path, operator, values) {
            return Some(one_of);
        }
        let of_value = |value: &&ScalarValue| cell_compared(column, cell, path, operator, value);
        let parts: Vec<String> = values.iter().map(of_value).collect::<Option<_>>()?;
        (!parts.is_empty()).then(|| parts.join(" or "))
    };
    everywhere(view, at, &of_cell)
}

/// Returns a condition such as `(code) in ('a' | 'b')`: the column's text is one of the values. Dictionary codes can
/// decide this for all values together. `None` if the cell may have several values, or if it is no comparison of texts.
fn texts(column: &Column, cell: &Cell, path: &str, operator: Operator, values: &[&ScalarValue]) -> Option<String> {
    let of_text = |item_type: &ItemType| item_type.system() == Some(System::String);
    let is_text = matches!(column.sql, SqlType::Text(_)) && column.kind == Kind::Text;
    let is_single = !cell.program.is_multi_valued() && cell.program.output_types().iter().all(of_text);
    if !is_text || !is_single || values.len() < 2 || operator != Operator::Eq {
        return None;
    }
    let text = |value: &&ScalarValue| Some(quoted(value.try_as_str()??));
    let texts: Vec<String> = values.iter().map(text).collect::<Option<_>>()?;
    Some(format!("({path}) in ({})", texts.join(" | ")))
}

/// Returns the comparison of a cell with a value, as a FHIRPath expression on the cell's context. It is true if SQL's
/// comparison is true. `None` if there is no such expression.
fn cell_compared(column: &Column, cell: &Cell, path: &str, operator: Operator, value: &ScalarValue) -> Option<String> {
    let types = cell.program.output_types();
    let all = |wanted: &[System]| {
        !types.is_empty()
            && types
                .iter()
                .all(|item_type| item_type.system().is_some_and(|system| wanted.contains(&system)))
    };
    if all(&[System::Date, System::DateTime]) {
        return moment_compared(column, path, operator, value);
    }
    match (column.kind, column.sql) {
        (Kind::Text, SqlType::Text(_)) if operator == Operator::Eq && all(&[System::String]) => {
            let text = value.try_as_str()??;
            Some(format!("({path}) = {}", quoted(text)))
        }
        (Kind::Boolean, SqlType::Boolean) if operator == Operator::Eq && all(&[System::Boolean]) => {
            let ScalarValue::Boolean(Some(value)) = value else {
                return None;
            };
            Some(format!("({path}) = {value}"))
        }
        (Kind::Integer, SqlType::Integer) if all(&[System::Integer]) => {
            let number = match value {
                ScalarValue::Int32(Some(number)) => *number,
                ScalarValue::Int64(Some(number)) => i32::try_from(*number).ok()?,
                _ => return None,
            };
            // The analysis in `fhirpath` does not recognize negative literals, so there is no expression for them.
            (number >= 0).then_some(())?;
            Some(format!("({path}) {} {number}", symbol(operator)?))
        }
        _ => None,
    }
}

/// Returns the comparison of a date or time with a value. The range is wider by a day on both sides, because a text is
/// compared as written, in its own zone, but the bounds are in UTC.
fn moment_compared(column: &Column, path: &str, operator: Operator, value: &ScalarValue) -> Option<String> {
    let (from, to) = match column.sql {
        SqlType::Text(_) => {
            let time = Temporal::date_time(value.try_as_str()??).ok()?;
            (day_of(time.start)?, day_of(time.end)?)
        }
        SqlType::Date | SqlType::Timestamp { .. } => {
            let day = match value {
                ScalarValue::Date32(Some(days)) => day_of(i64::from(*days) * DAY)?,
                ScalarValue::TimestampSecond(Some(time), _) => day_of(time.checked_mul(1_000_000)?)?,
                ScalarValue::TimestampMillisecond(Some(time), _) => day_of(time.checked_mul(1_000)?)?,
                ScalarValue::TimestampMicrosecond(Some(time), _) => day_of(*time)?,
                ScalarValue::TimestampNanosecond(Some(time), _) => day_of(time.div_euclid(1_000))?,
                _ => return None,
            };
            (day, day)
        }
        _ => return None,
    };
    let (from, to) = (from.checked_sub_days(Days::new(1))?, to.checked_add_days(Days::new(1))?);
    let (from, to) = (from.format("%Y-%m-%d"), to.format("%Y-%m-%d"));
    match operator {
        Operator::Eq => Some(format!("({path}) >= @{from} and ({path}) <= @{to}")),
        Operator::Gt | Operator::GtEq => Some(format!("({path}) >= @{from}")),
        Operator::Lt | Operator::LtEq => Some(format!("({path}) <= @{to}")),
        _ => None,
    }
}

/// Returns the day of a moment in UTC. `None` outside the years 2 to 9998, so that the days around it have four
/// digits.
fn day_of(microseconds: i64) -> Option<NaiveDate> {
    let days = microseconds.div_euclid(DAY);
    let day = NaiveDate::from_ymd_opt(1970, 1, 1)?.checked_add_signed(chrono::TimeDelta::try_days(days)?)?;
    let year = chrono::Datelike::year(&day);
    (2..=9998).contains(&year).then_some(day)
}

fn symbol(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Eq => "=",
        Operator::Lt => "<",
        Operator::LtEq => "<=",
        Operator::Gt => ">",
        Operator::GtEq => ">=",
        _ => return None,
    })
}

/// Returns a string as a FHIRPath literal.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// Returns the cell's expression. `None` if the expression depends on more than its context and the view's constants.
fn text<'c>(view: &View, cell: &'c Cell) -> Option<&'c str> {
    Some(cell.program.text()).filter(|text| is_plain(text, &view.constants))
}

/// Whether an expression can be embedded in another: it uses no `%name` other than constants, and has no comments or
/// unclosed quotes. Text in quotes is ignored.
fn is_plain(text: &str, constants: &HashMap<String, Constant>) -> bool {
    let (mut quote, mut before, mut letters) = (None, ' ', text.chars());
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '%') if !begins_with_constant(letters.as_str(), constants) => return false,
            (None, '/' | '*') if before == '/' => return false,
            (None, _) => {}
        }
        before = if quote.is_some() { ' ' } else { letter };
    }
    quote.is_none()
}

/// Whether a text begins with a constant's name.
fn begins_with_constant(text: &str, constants: &HashMap<String, Constant>) -> bool {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    constants.contains_key(&text[..end.unwrap_or(text.len())])
}

/// Returns a FHIRPath expression on a resource. It is true if `of_cell`'s expression is true for one of the cells
/// that fill the slot.
fn everywhere(view: &View, slot: usize, of_cell: &dyn Fn(&Cell) -> Option<String>) -> Option<String> {
    let mut found = Vec::new();
    for select in &view.selects {
        collect(view, select, slot, of_cell, &mut found)?;
    }
    match found.len() {
        0 => None,
        1 => found.pop(),
        _ => Some(format!("({})", found.join(") or ("))),
    }
}

/// Adds the expressions of the cells that fill the slot, each on the context of the select. `None` if one of them
/// cannot be expressed.
fn collect(
    view: &View,
    select: &Select,
    slot: usize,
    of_cell: &dyn Fn(&Cell) -> Option<String>,
    found: &mut Vec<String>,
) -> Option<()> {
    let mut inside = Vec::new();
    for cell in select.cells.iter().filter(|cell| cell.slot == slot) {
        inside.push(of_cell(cell)?);
    }
    for below in select.selects.iter().chain(&select.union) {
        collect(view, below, slot, of_cell, &mut inside)?;
    }
    match &select.iteration {
        _ if inside.is_empty() => {}
        None => found.append(&mut inside),
        Some(iteration) => {
            let Steps::Each(program) = &iteration.steps else {
                return None;
            };
            let text = Some(program.text()).filter(|text| is_plain(text, &view.constants))?;
            found.push(format!("({text}).exists(({}))", inside.join(") or (")));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    fn view() -> View {
        let view = r#"{"resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "Observation",
            "constant": [{"name": "loinc", "valueString": "http://loinc.org"}],
            "select": [
                {"column": [{"name": "id", "path": "id", "type": "id"},
                    {"name": "status", "path": "status", "type": "code"},
                    {"name": "code", "path": "code.coding.where(system = 'http://loinc.org').code.first()", "type": "code"},
                    {"name": "of", "path": "code.coding.where(system = %loinc).code.first()", "type": "code"},
                    {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal"},
                    {"name": "patient", "path": "subject.getReferenceKey(Patient)", "type": "string"},
                    {"name": "key", "path": "getResourceKey()", "type": "string"},
                    {"name": "number", "path": "%rowIndex", "type": "integer"},
                    {"name": "codes", "path": "code.coding.code", "type": "code", "collection": true},
                    {"name": "taken", "path": "effective.ofType(dateTime)", "type": "dateTime"},
                    {"name": "day", "path": "effective.ofType(dateTime)", "type": "dateTime",
                        "tag": [{"name": "ansi/type", "value": "DATE"}]}]},
                {"forEach": "component", "column": [{"name": "part", "path": "code.coding.code.first()", "type": "code"}]}]}"#;
        View::parse(view.as_bytes()).unwrap()
    }

    #[test]
    fn a_condition_on_columns_is_one_on_resources() {
        let view = view();
        let said = |filter: Expr| condition(&view, &filter);
        let code = "code.coding.where(system = 'http://loinc.org').code.first()";
        for (filter, expected) in [
            (col("status").eq(lit("final")), Some("(status) = 'final'".to_owned())),
            (col("code").eq(lit("a'b")), Some(format!("({code}) = 'a\\'b'"))),
            (
                col("code").eq(lit("a")).or(col("code").eq(lit("b"))),
                Some(format!("({code}) in ('a' | 'b')")),
            ),
            (
                col("part").eq(lit("8480-6")),
                Some("(component).exists(((code.coding.code.first()) = '8480-6'))".to_owned()),
            ),
            (
                col("day").gt_eq(lit(ScalarValue::Date32(Some(18_262)))),
                Some("(effective.ofType(dateTime)) >= @2019-12-31".to_owned()),
            ),
            (
                col("taken").lt(lit("2020-06")),
                Some("(effective.ofType(dateTime)) <= @2020-07-02".to_owned()),
            ),
            (
                col("of").eq(lit("a")),
                Some("(code.coding.where(system = %loinc).code.first()) = 'a'".to_owned()),
            ),
            (
                col("patient").eq(lit("p")),
                Some("(subject.getReferenceKey(Patient)) = 'p'".to_owned()),
            ),
            // No condition follows from these filters. They depend on the row's index, compare a list or another
            // column, or have no bounds.
            (col("number").eq(lit(1)), None),
            (col("codes").eq(lit("a")), None),
            (col("status").gt(lit("a")), None),
            (col("taken").gt(lit("yesterday")), None),
            (col("value").gt(lit(5)), None),
            (col("status").eq(col("code")), None),
            (col("status").not_eq(lit("final")), None),
        ] {
            assert_eq!(said(filter.clone()), expected, "{filter}");
        }
    }

    #[test]
    fn a_condition_tells_the_scan_what_to_leave_out() {
        let view = view();
        let sought = Sought::of(&view, &col("part").eq(lit("8480-6"))).unwrap();
        assert_eq!(sought.necessary.items.len(), 1);
        assert!(!sought.necessary.exact && sought.is_decided_above());
        assert_eq!(
            sought.necessary.prune.to_string(),
            "(component exists and component.code.coding.code = '8480-6')"
        );
        assert!(Sought::of(&view, &col("value").gt(lit(5))).is_none());
        for (filter, item, prune) in [
            (
                col("patient").eq(lit("p")),
                "item [subject.reference__type = 'Patient' and subject.reference__id = 'p']",
                "(subject.reference__id = 'p' and subject.reference__type = 'Patient')",
            ),
            (col("key").eq(lit("o")), "item [id = 'o']", "id = 'o'"),
            (
                col("id").eq(lit("o")).or(col("id").eq(lit("p"))),
                "item [id in 2 ids]",
                "(id = 'o' or id = 'p')",
            ),
            (
                col("of").eq(lit("a")),
                "item [code.coding.system = 'http://loinc.org']",
                "(code.coding.code = 'a' and code.coding.system = 'http://loinc.org')",
            ),
        ] {
            let sought = Sought::of(&view, &filter).unwrap();
            let labels: Vec<&str> = sought.necessary.items.iter().map(|item| &*item.label).collect();
            assert!(labels.contains(&item), "{filter}: {labels:?}");
            assert_eq!(sought.necessary.prune.to_string(), prune);
        }
        let of_ids = Sought::of(&view, &col("key").eq(lit("o"))).unwrap();
        assert!(of_ids.necessary.items[0].ids().is_some(), "the scan looks the id up");
    }

    #[test]
    fn quotes_hide_what_looks_like_a_comment() {
        let constants = HashMap::from([("c".to_owned(), Constant::String("x".to_owned()))]);
        for (text, expected) in [
            ("a.where(b = 'http://c')", true),
            ("a // b", false),
            ("a /* b */", false),
            ("a / b", true),
            ("%c", true),
            ("a.where(b = %c and c = %d)", false),
            ("%resource.a", false),
            ("a = '%c'", true),
            ("a = 'it\\'s // fine'", true),
            ("a = 'open", false),
        ] {
            assert_eq!(is_plain(text, &constants), expected, "{text}");
        }
    }
}
