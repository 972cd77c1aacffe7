//! Filters and projects items: `where`, `select`.

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::collection::{Collection, Offsets};
use crate::fhirpath::values::truth::Truth;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "where",
        parameters: &[Parameter::Each],
        required: 1,
        reads: Need::Nothing,
        shape: signature::input,
        run: |call| Ok(Output::Items(filter(&call.input, &call.criterion(0)?))),
    },
    Function {
        name: "select",
        parameters: &[Parameter::EachItems],
        required: 1,
        reads: Need::Presence,
        shape: projected,
        run: select,
    },
];

fn projected(signature: &Signature<'_>) -> Shape {
    let mut shape = signature.arguments.first().cloned().unwrap_or_default();
    shape.many |= signature.input.many;
    shape
}

fn select(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let node = call.node(0);
    let projected = call.frame.within(&call.input, None, |inner| inner.items(node))?;
    Ok(Output::Items(projected.within(call.input.offsets())))
}

/// Returns the items for which the criterion is true. `criterion` has one row for each item of `input`.
pub(in crate::fhirpath::functions) fn filter(input: &Collection, criterion: &Truth) -> Collection {
    let kept = criterion.yes.count_set_bits();
    if kept == input.len() {
        return input.clone();
    }
    if kept == 0 {
        return Collection::empty(input.rows());
    }
    let places: Vec<u32> = criterion.yes.set_indices().map(|item| item as u32).collect();
    let mut offsets = Vec::with_capacity(input.rows() + 1);
    let mut count = 0i32;
    offsets.push(0);
    for row in 0..input.rows() {
        count += input
            .range(row)
            .map(|item| i32::from(criterion.yes.value(item)))
            .sum::<i32>();
        offsets.push(count);
    }
    input.take(Offsets::list(offsets), places)
}
