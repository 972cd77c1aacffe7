//! Set operations on collections: `distinct`, `union`, `intersect`, `exclude`, `subsetOf` and others. Also `combine`,
//! which keeps duplicates.

use arrow::buffer::BooleanBuffer;

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::combine::side_by_side;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::operators::sets::{distinct, held, union};
use crate::fhirpath::values::collection::{Collection, Offsets};
use crate::fhirpath::values::truth::Truth;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "distinct",
        parameters: &[],
        required: 0,
        reads: Need::Content,
        shape: signature::input,
        run: |call| Ok(Output::Items(distinct(&call.input, call.frame.work())?)),
    },
    Function {
        name: "isDistinct",
        parameters: &[],
        required: 0,
        reads: Need::Content,
        shape: signature::boolean,
        run: |call| {
            let kept = distinct(&call.input, call.frame.work())?;
            rows(call, |row| kept.range(row).len() == call.input.range(row).len())
        },
    },
    Function {
        name: "union",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Content,
        shape: both,
        run: |call| Ok(Output::Items(union(&call.input, &call.value(0)?, call.frame.work())?)),
    },
    Function {
        name: "combine",
        parameters: &[Parameter::Items, Parameter::Value],
        required: 1,
        reads: Need::Nothing,
        shape: both,
        run: |call| Ok(Output::Items(side_by_side(&[call.input.clone(), call.value(0)?]))),
    },
    Function {
        name: "intersect",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Content,
        shape: signature::input,
        run: |call| {
            let held = held(&call.value(0)?, &call.input, call.frame.work())?;
            let kept = keep(&call.input, |_, item| held.value(item));
            Ok(Output::Items(distinct(&kept, call.frame.work())?))
        },
    },
    Function {
        name: "exclude",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Content,
        shape: signature::input,
        run: |call| {
            let held = held(&call.value(0)?, &call.input, call.frame.work())?;
            Ok(Output::Items(keep(&call.input, |_, item| !held.value(item))))
        },
    },
    Function {
        name: "subsetOf",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Content,
        shape: signature::boolean,
        run: |call| {
            let held = held(&call.value(0)?, &call.input, call.frame.work())?;
            rows(call, |row| call.input.range(row).all(|item| held.value(item)))
        },
    },
    Function {
        name: "supersetOf",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Content,
        shape: signature::boolean,
        run: |call| {
            let other = call.value(0)?;
            let held = held(&call.input, &other, call.frame.work())?;
            rows(call, |row| other.range(row).all(|item| held.value(item)))
        },
    },
];

fn both(signature: &Signature<'_>) -> Shape {
    let other = signature.arguments.first().cloned().unwrap_or_default();
    signature.input.clone().join(&other).multiple()
}

fn rows(call: &Invocation<'_>, of: impl FnMut(usize) -> bool) -> Result<Output, FhirPathError> {
    Ok(Output::Truth(Truth::known(BooleanBuffer::collect_bool(
        call.input.rows(),
        of,
    ))))
}

/// Returns the items for which `wanted` is true. `wanted` gets the row of each item, and the item's index in `input`.
pub(in crate::fhirpath::functions) fn keep(input: &Collection, wanted: impl Fn(usize, usize) -> bool) -> Collection {
    let mut offsets = Vec::with_capacity(input.rows() + 1);
    let mut places = Vec::new();
    offsets.push(0);
    for row in 0..input.rows() {
        places.extend(
            input
                .range(row)
                .filter(|item| wanted(row, *item))
                .map(|item| item as u32),
        );
        offsets.push(places.len() as i32);
    }
    input.take(Offsets::list(offsets), places)
}
