//! `and`, `or`, `xor` and `implies` in three-valued logic. If the left operand decides the result of a row, errors of
//! the right operand in this row are dropped.

use crate::fhirpath::compile::node::Node;
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::syntax::ast::Operator;
use crate::fhirpath::values::truth::Truth;

pub(super) fn evaluate(
    frame: &Frame<'_>,
    operator: Operator,
    left: &Node,
    right: &Node,
    at: Position,
) -> Result<Truth, FhirPathError> {
    let symbol = operator.symbol();
    let left = frame.truth(left, symbol, at)?;
    let settled = match operator {
        Operator::And | Operator::Implies => Some(false),
        Operator::Or => Some(true),
        _ => None,
    };
    let open = |row: usize| settled.is_none() || left.get(row) != settled;
    let right = frame.guarded(|| frame.truth(right, symbol, at), open)?;
    Ok(match operator {
        Operator::And => left.and(&right),
        Operator::Or => left.or(&right),
        Operator::Xor => left.xor(&right),
        _ => left.not().or(&right),
    })
}
