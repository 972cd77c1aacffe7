//! Binary operators: the shape of a result, and the evaluation, which counts its work and calls the module of the
//! operator's family.

use super::{arithmetic, comparison, equality, logic, sets};
use crate::fhirpath::compile::node::{Node, Shape};
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::interpreter::{Frame, Output};
use crate::fhirpath::syntax::ast::Operator;

/// Returns the shape of an operator's result. Returns an error if an arithmetic operator is defined for no combination
/// of the operands' possible types.
pub(in crate::fhirpath) fn shape(
    operator: Operator,
    left: &Shape,
    right: &Shape,
    at: Position,
) -> Result<Shape, FhirPathError> {
    match operator {
        Operator::Multiply | Operator::Divide | Operator::Div | Operator::Mod | Operator::Add | Operator::Subtract => {
            arithmetic::shape(operator, left, right, at)
        }
        Operator::Concatenate => Ok(Shape::one(ItemType::System(System::String))),
        Operator::Union => Ok(left.clone().join(right).multiple()),
        _ => Ok(Shape::one(ItemType::System(System::Boolean))),
    }
}

/// Evaluates `left operator right`.
pub(in crate::fhirpath) fn binary(
    frame: &Frame<'_>,
    operator: Operator,
    left: &Node,
    right: &Node,
    at: Position,
) -> Result<Output, FhirPathError> {
    if let Operator::And | Operator::Or | Operator::Xor | Operator::Implies = operator {
        return Ok(Output::Truth(logic::evaluate(frame, operator, left, right, at)?));
    }
    let (left, right) = (frame.items(left)?, frame.items(right)?);
    frame.spend(match operator {
        Operator::Union => 0,
        Operator::Equivalent | Operator::NotEquivalent => 4 * (left.comparing() + right.comparing()),
        Operator::Concatenate | Operator::Add => left.text_bytes() + right.text_bytes() + 8 * left.rows(),
        Operator::Multiply | Operator::Divide | Operator::Div | Operator::Mod | Operator::Subtract => 8 * left.rows(),
        _ => left.comparing() + right.comparing(),
    })?;
    let work = frame.work();
    Ok(match operator {
        Operator::Equal => Output::Truth(equality::equal(&left, &right)),
        Operator::NotEqual => Output::Truth(equality::equal(&left, &right).not()),
        Operator::Equivalent => Output::Truth(equality::equivalent(&left, &right, work)?),
        Operator::NotEquivalent => Output::Truth(equality::equivalent(&left, &right, work)?.not()),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            Output::Truth(comparison::compare(frame, operator, &left, &right, at))
        }
        Operator::In => Output::Truth(sets::contains(frame, &right, &left, "in", at)),
        Operator::Contains => Output::Truth(sets::contains(frame, &left, &right, "contains", at)),
        Operator::Union => Output::Items(sets::union(&left, &right, work)?),
        _ => Output::Items(arithmetic::evaluate(frame, operator, &left, &right, at)?),
    })
}
