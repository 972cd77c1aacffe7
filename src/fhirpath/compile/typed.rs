//! An expression as a tree of parts, with the facts that are known before evaluation. For each part: the possible types
//! of its items, whether there may be several items, and their columns.

use std::fmt;

use super::super::error::FhirPathError;
use super::super::program::Program;
use super::super::syntax::ast::{Expr, ExprKind, Literal};
use super::super::syntax::parse::parse;
use super::expression::shapes;
use super::options::CompileOptions;
use super::shapes::Shapes;
use super::types::ItemType;
use crate::fhir::TypeId;
use std::sync::Arc;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name of the element or function (with `()`), or the operator or literal as it is written.
    pub name: String,
    /// The possible types of the part's items. `None` if the part is not an expression, such as the name of a type.
    pub types: Option<Vec<ItemType>>,
    /// Whether the part may yield several items.
    pub many: bool,
    /// The columns of the part's items, as paths from the root of the table.
    pub columns: Vec<String>,
    /// The parts of this part: the input before the dot, then arguments or operands.
    pub parts: Vec<Part>,
}

/// Compiles an expression. Returns the program, and the tree of the expression's parts.
pub fn typed(text: &str, root: TypeId, options: &CompileOptions<'_>) -> Result<(Program, Part), FhirPathError> {
    let tree = parse(text)?;
    let (inner, shapes) = shapes(&tree, text, root, options)?;
    Ok((Program { inner: Arc::new(inner) }, part(&tree, &shapes)))
}

fn part(expr: &Expr, shapes: &Shapes) -> Part {
    let below = |exprs: &[&Expr]| exprs.iter().map(|expr| part(expr, shapes)).collect();
    let (name, parts) = match &expr.kind {
        ExprKind::Empty => ("{}".to_owned(), Vec::new()),
        ExprKind::Literal(literal) => (written(literal), Vec::new()),
        ExprKind::External(name) => (format!("%{name}"), Vec::new()),
        ExprKind::This => ("$this".to_owned(), Vec::new()),
        ExprKind::Index => ("$index".to_owned(), Vec::new()),
        ExprKind::Total => ("$total".to_owned(), Vec::new()),
        ExprKind::Member { on, name } => (name.clone(), on.iter().map(|on| part(on, shapes)).collect()),
        ExprKind::Call { on, name, arguments } => {
            let parts = on.as_deref().into_iter().chain(arguments);
            (format!("{name}()"), parts.map(|expr| part(expr, shapes)).collect())
        }
        ExprKind::Indexer { on, index } => ("[]".to_owned(), below(&[on, index])),
        ExprKind::Sign { negative, operand } => {
            let sign = if *negative { "-" } else { "+" };
            (sign.to_owned(), below(&[operand]))
        }
        ExprKind::Binary { operator, left, right } => (operator.symbol().to_owned(), below(&[left, right])),
        ExprKind::TypeTest {
            cast,
            operand,
            type_name,
        } => {
            let word = if *cast { "as" } else { "is" };
            (format!("{word} {}", type_name.name), below(&[operand]))
        }
    };
    let shape = shapes.of(expr);
    let sources = shape.map_or(&[][..], |shape| &shape.sources);
    let types = shape.map(|_| {
        let mut types: Vec<ItemType> = sources.iter().map(|source| source.item_type).collect();
        types.sort_unstable();
        types.dedup();
        types
    });
    let paths = sources.iter().filter_map(|source| source.path.as_deref());
    let mut columns: Vec<String> = paths.filter(|path| !path.is_empty()).map(str::to_owned).collect();
    columns.sort_unstable();
    columns.dedup();
    Part {
        name,
        types,
        many: shape.is_some_and(|shape| shape.many),
        columns,
        parts,
    }
}

fn written(literal: &Literal) -> String {
    match literal {
        Literal::Boolean(value) => value.to_string(),
        Literal::String(text) => format!("'{}'", text.escape_default()),
        Literal::Integer(text) | Literal::Decimal(text) => text.clone(),
        Literal::Long(text) => format!("{text}L"),
        Literal::Date(text) | Literal::DateTime(text) => format!("@{text}"),
        Literal::Time(text) => format!("@T{text}"),
        Literal::Quantity {
            value,
            unit,
            calendar: true,
        } => format!("{value} {unit}"),
        Literal::Quantity { value, unit, .. } => format!("{value} '{unit}'"),
    }
}

/// The maximum number of types that are printed for a part, and also of columns. If there are more, the text ends with
/// `and 3 more`, for example.
const MAX_NAMES: usize = 4;

fn listed(names: &[String], between: &str) -> String {
    match names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        None => names.join(between),
        Some(more) => format!("{} and {more} more", names[..MAX_NAMES].join(between)),
    }
}

impl Part {
    fn lines(&self, depth: usize, lines: &mut Vec<[String; 3]>) {
        let what = match &self.types {
            None => "type".to_owned(),
            Some(types) if types.is_empty() => "nothing".to_owned(),
            Some(types) => {
                let names: Vec<String> = types.iter().map(ToString::to_string).collect();
                let several = if self.many { ", several" } else { "" };
                format!("{}{several}", listed(&names, " or "))
            }
        };
        let name = format!("{}{}", "  ".repeat(depth), self.name);
        lines.push([name, what, listed(&self.columns, ", ")]);
        for part in &self.parts {
            part.lines(depth + 1, lines);
        }
    }
}

/// Prints the tree, with one line for each part.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        self.lines(0, &mut lines);
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1));
        for [name, what, columns] in &lines {
            let line = format!("{name:first$}  {what:second$}  {columns}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
