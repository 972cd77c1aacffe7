//! Parses statements and allows only those that read. Also expands the short forms of `fhirpath()`: `fhirpath(Patient,
//! 'gender')` becomes `fhirpath(Patient.resource, 'gender')`.

use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SetExpr, Statement as Sql,
    Subscript, Value, Visit, Visitor, visit_expressions_mut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;

use super::error::SqlError;
use super::{function, length};
use crate::fhir::storage::TEXT;

/// The recursion limit of the parser. A statement that `length` accepts stays below it. This matters, because the
/// parser tries several ways to read a part, and repeats this at each level if it meets the limit.
const MAX_DEPTH: usize = 6 * length::MAX_NESTED;
/// The name that stands for the row in `fhirpath(row, ...)`, if a statement reads only one table.
const ROW: &str = "row";

/// A statement that only reads, and what the caller wants of it.
pub(super) enum Wanted {
    /// The rows of the statement.
    Rows(Statement),
    /// The plan of the statement. With `analyze`, the statement runs first, and the plan has the metrics of the run.
    Plan { of: Statement, analyze: bool },
}

impl Wanted {
    /// Parses a text, which must have exactly one statement. The statement must only read.
    pub(super) fn parse(text: &str) -> Result<Wanted, SqlError> {
        let dialect = GenericDialect {};
        length::check(text, &dialect)?;
        let parsed = DFParserBuilder::new(text)
            .with_dialect(&dialect)
            .with_recursion_limit(MAX_DEPTH)
            .build()
            .and_then(|mut parser| parser.parse_statements());
        let mut statements = parsed.map_err(SqlError::of_plan)?;
        match (statements.pop_front(), statements.len()) {
            (Some(statement), 0) => Wanted::of(statement),
            (None, _) => Err(SqlError::Count(0)),
            (Some(_), more) => Err(SqlError::Count(more + 1)),
        }
    }

    fn of(statement: Statement) -> Result<Wanted, SqlError> {
        match statement {
            Statement::Explain(explain) => Ok(Wanted::Plan {
                analyze: explain.options.analyze,
                of: reading(*explain.statement)?,
            }),
            statement => match statement {
                Statement::Statement(sql) if matches!(*sql, Sql::Explain { .. }) => {
                    let Sql::Explain { analyze, statement, .. } = *sql else {
                        return Err(SqlError::Count(0));
                    };
                    let of = reading(Statement::Statement(statement))?;
                    Ok(Wanted::Plan { of, analyze })
                }
                statement => Ok(Wanted::Rows(reading(statement)?)),
            },
        }
    }

    /// Returns the statement, without its `EXPLAIN`.
    pub(super) fn statement(&self) -> &Statement {
        match self {
            Wanted::Rows(statement) => statement,
            Wanted::Plan { of, .. } => of,
        }
    }
}

/// Checks that a statement only reads. Returns it with the short forms expanded.
fn reading(mut statement: Statement) -> Result<Statement, SqlError> {
    let reads = match &statement {
        Statement::Statement(sql) => match sql.as_ref() {
            Sql::Query(query) => query.visit(&mut Writing).is_continue(),
            Sql::ExplainTable { .. } | Sql::ShowTables { .. } | Sql::ShowColumns { .. } | Sql::ShowFunctions { .. } => {
                true
            }
            _ => false,
        },
        _ => false,
    };
    if !reads {
        return Err(SqlError::Writes(kind(&statement)));
    }
    if let Statement::Statement(sql) = &mut statement {
        let _: ControlFlow<()> = visit_expressions_mut(sql.as_mut(), |expression| {
            bracket(expression);
            spell_out(expression);
            ControlFlow::Continue(())
        });
    }
    Ok(statement)
}

/// A visitor that stops at a query that writes: the statement's own query, one of a `WITH`, or one in brackets.
struct Writing;

impl Visitor for Writing {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if writes(&query.body) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Whether the body of a query writes: it is an INSERT, UPDATE, DELETE or MERGE, or a `SELECT ... INTO`.
fn writes(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_some(),
        SetExpr::Query(query) => writes(&query.body),
        SetExpr::SetOperation { left, right, .. } => writes(left) || writes(right),
        SetExpr::Values(_) | SetExpr::Table(_) => false,
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => true,
    }
}

/// Returns the first word of a statement in upper case, or the first two after CREATE, DROP or ALTER. They tell what
/// the statement does and contain no value.
fn kind(statement: &Statement) -> String {
    let text = statement.to_string();
    let words = text.split_whitespace().map(str::to_uppercase);
    let is_word = |word: &String| word.chars().all(|letter| letter.is_ascii_uppercase());
    let words: Vec<String> = words.take_while(is_word).take(2).collect();
    match words.as_slice() {
        [] => "a statement that does not read".to_owned(),
        [first, second] if ["CREATE", "DROP", "ALTER"].contains(&first.as_str()) => format!("{first} {second}"),
        [first, ..] => first.clone(),
    }
}

/// Changes `name[1].family` to `name[1]['family']`: after a subscript, a dot selects a field.
fn bracket(expression: &mut Expr) {
    let Expr::CompoundFieldAccess { access_chain, .. } = expression else {
        return;
    };
    let mut is_inside = false;
    for access in access_chain {
        *access = match access {
            AccessExpr::Dot(Expr::Identifier(name)) if is_inside => {
                let name = Value::SingleQuotedString(std::mem::take(&mut name.value));
                AccessExpr::Subscript(Subscript::Index {
                    index: Expr::value(name),
                })
            }
            AccessExpr::Subscript(_) => {
                is_inside = true;
                continue;
            }
            AccessExpr::Dot(_) => continue,
        };
    }
}

/// Changes `fhirpath(p, 'x')` to `fhirpath(p.resource, 'x')`, and `fhirpath('x')` and `fhirpath(row, 'x')` to
/// `fhirpath(resource, 'x')`.
fn spell_out(expression: &mut Expr) {
    let Expr::Function(call) = expression else { return };
    let is_ours = function::NAMES
        .iter()
        .any(|name| call.name.to_string().eq_ignore_ascii_case(name));
    let FunctionArguments::List(list) = &mut call.args else {
        return;
    };
    if !is_ours {
        return;
    }
    if list.args.len() == 1 {
        let text = Expr::Identifier(Ident::new(TEXT));
        list.args.insert(0, FunctionArg::Unnamed(FunctionArgExpr::Expr(text)));
        return;
    }
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(row))) = list.args.first_mut() else {
        return;
    };
    *row = match row {
        Expr::Identifier(name) if name.value == TEXT || name.value.eq_ignore_ascii_case(ROW) => {
            Expr::Identifier(Ident::new(TEXT))
        }
        Expr::Identifier(table) => Expr::CompoundIdentifier(vec![table.clone(), Ident::new(TEXT)]),
        _ => return,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match Wanted::parse(text) {
            Ok(wanted) => wanted.statement().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_row_is_named_by_its_table() {
        for (text, expected) in [
            (
                "SELECT fhirpath(p, 'id') FROM Patient p",
                "SELECT fhirpath(p.resource, 'id') FROM Patient p",
            ),
            (
                "SELECT FHIRPath(row, 'id') FROM Patient",
                "SELECT FHIRPath(resource, 'id') FROM Patient",
            ),
            (
                "SELECT fhirpath('id') FROM Patient",
                "SELECT fhirpath(resource, 'id') FROM Patient",
            ),
            (
                "SELECT a FROM t WHERE lower(fhirpath_list(resource, 'id')) = 'x'",
                "SELECT a FROM t WHERE lower(fhirpath_list(resource, 'id')) = 'x'",
            ),
            ("EXPLAIN SELECT 1", "SELECT 1"),
            (
                "SELECT p.name[1].family FROM Patient p",
                "SELECT p.name[1]['family'] FROM Patient p",
            ),
        ] {
            assert_eq!(said(text), expected);
        }
    }

    #[test]
    fn what_writes_is_refused() {
        for (text, what) in [
            ("INSERT INTO Patient VALUES (1)", "INSERT"),
            ("UPDATE Patient SET id = 'secret'", "UPDATE"),
            ("DELETE FROM Patient", "DELETE"),
            ("CREATE TABLE t AS SELECT 1", "CREATE TABLE"),
            (
                "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
                "CREATE EXTERNAL",
            ),
            ("DROP TABLE Patient", "DROP TABLE"),
            ("COPY (SELECT 1) TO '/tmp/x.csv'", "COPY"),
            ("SET x = 1", "SET"),
            ("SELECT 1 INTO t", "SELECT"),
            ("EXPLAIN DELETE FROM Patient", "DELETE"),
            ("BEGIN", "BEGIN"),
            (
                "WITH t AS (INSERT INTO Patient VALUES (1) RETURNING id) SELECT * FROM t",
                "WITH",
            ),
            ("WITH t AS (DELETE FROM Patient RETURNING id) SELECT * FROM t", "WITH"),
            ("WITH t AS (SELECT 1 AS n INTO u) SELECT n FROM t", "WITH"),
            (
                "SELECT * FROM (UPDATE Patient SET id = 'secret' RETURNING id)",
                "SELECT",
            ),
        ] {
            assert_eq!(
                said(text),
                format!("{what} is refused: tabularium sql only reads"),
                "{text}"
            );
        }
        assert!(said("SELECT 1; SELECT 2").starts_with("2 statements"));
        assert!(said("").starts_with("0 statements"));
        assert!(said("SELEC 1").starts_with("the statement cannot be read: "));
    }
}
