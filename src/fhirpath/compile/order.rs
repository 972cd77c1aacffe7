//! Refuses expressions that select items by position after a function that leaves their order undefined, as in
//! `children().skip(1)`. Looks only at the syntax tree. The check runs if the option `ordered` is set.

use crate::fhirpath::error::{FhirPathError, Places};
use crate::fhirpath::syntax::ast::{Expr, ExprKind, Operator};

/// Refuses an expression that selects items by position after a function that leaves their order undefined.
pub(super) fn check(expr: &Expr, places: &Places) -> Result<(), FhirPathError> {
    open_order(expr, places).map(|_| ())
}

/// The name of the function or operator that left the order of an expression's items undefined. `None` if the order is
/// defined.
type Open = Option<String>;

fn open_order(expr: &Expr, places: &Places) -> Result<Open, FhirPathError> {
    Ok(match &expr.kind {
        ExprKind::Member { on: Some(on), .. } => open_order(on, places)?,
        ExprKind::TypeTest { operand, .. } | ExprKind::Sign { operand, .. } => open_order(operand, places)?,
        ExprKind::Indexer { on, index } => {
            open_order(index, places)?;
            settled(open_order(on, places)?, "an index", expr, places)?
        }
        ExprKind::Binary { operator, left, right } => {
            open_order(left, places)?;
            open_order(right, places)?;
            (*operator == Operator::Union).then(|| "|".to_string())
        }
        ExprKind::Call { on, name, arguments } => {
            let on = match on {
                Some(on) => open_order(on, places)?,
                None => None,
            };
            let arguments = arguments
                .iter()
                .map(|argument| open_order(argument, places))
                .collect::<Result<Vec<Open>, _>>()?;
            call(name, on, arguments, expr, places)?
        }
        _ => None,
    })
}

fn call(name: &str, on: Open, arguments: Vec<Open>, expr: &Expr, places: &Places) -> Result<Open, FhirPathError> {
    let of_arguments = |arguments: Vec<Open>| arguments.into_iter().flatten().next();
    Ok(match name {
        "children" | "descendants" | "repeat" | "repeatAll" | "union" | "combine" | "distinct" | "intersect" => {
            Some(format!("{name}()"))
        }
        "first" | "last" | "tail" | "skip" | "take" => settled(on, &format!("{name}()"), expr, places)?,
        "where" | "ofType" | "as" | "exclude" | "trace" | "extension" | "resolve" | "defineVariable" => on,
        "select" => on.or_else(|| of_arguments(arguments)),
        "iif" | "coalesce" => of_arguments(arguments),
        _ => None,
    })
}

fn settled(on: Open, function: &str, expr: &Expr, places: &Places) -> Result<Open, FhirPathError> {
    match on {
        None => Ok(None),
        Some(after) => Err(FhirPathError::Unordered {
            at: places.of(expr.at),
            function: function.to_string(),
            after,
        }),
    }
}
