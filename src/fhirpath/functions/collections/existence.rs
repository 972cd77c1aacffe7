//! Functions that tell whether there are items, how many there are, and whether they are true.

use arrow::buffer::BooleanBuffer;

use super::super::signature;
use super::super::signature::{Function, Need, Parameter};
use super::filtering::filter;
use crate::fhirpath::compile::types::System;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::{Output, integers};
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::collection::{Collection, Offsets};
use crate::fhirpath::values::truth::Truth;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "exists",
        parameters: &[Parameter::Each],
        required: 0,
        reads: Need::Presence,
        shape: signature::boolean,
        run: exists,
    },
    Function {
        name: "empty",
        parameters: &[],
        required: 0,
        reads: Need::Presence,
        shape: signature::boolean,
        run: |call| Ok(Output::Truth(any(&call.input).not())),
    },
    Function {
        name: "not",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| Ok(Output::Truth(call.frame.as_truth(&call.input, "not", call.at()).not())),
    },
    Function {
        name: "count",
        parameters: &[],
        required: 0,
        reads: Need::Presence,
        shape: signature::integer,
        run: count,
    },
    Function {
        name: "all",
        parameters: &[Parameter::Each],
        required: 1,
        reads: Need::Presence,
        shape: signature::boolean,
        run: all,
    },
    Function {
        name: "allTrue",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| every_row(call, |range, value| range.all(|item| value(item) != Some(false))),
    },
    Function {
        name: "anyTrue",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| every_row(call, |range, value| range.any(|item| value(item) == Some(true))),
    },
    Function {
        name: "allFalse",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| every_row(call, |range, value| range.all(|item| value(item) != Some(true))),
    },
    Function {
        name: "anyFalse",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::boolean,
        run: |call| every_row(call, |range, value| range.any(|item| value(item) == Some(false))),
    },
];

fn exists(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    if !call.has(0) {
        return Ok(Output::Truth(any(&call.input)));
    }
    let kept = filter(&call.input, &call.criterion(0)?);
    Ok(Output::Truth(any(&kept)))
}

/// Returns for each row whether it has an item.
pub(in crate::fhirpath::functions) fn any(collection: &Collection) -> Truth {
    let rows = collection.rows();
    Truth::known(match collection.offsets() {
        Offsets::Each(_) => BooleanBuffer::new_set(rows),
        Offsets::List(offsets) => BooleanBuffer::collect_bool(rows, |row| offsets[row] < offsets[row + 1]),
    })
}

fn count(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let counts = (0..call.input.rows())
        .map(|row| call.input.range(row).len() as i32)
        .collect();
    Ok(Output::Items(integers(counts)))
}

fn all(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let criterion = call.criterion(0)?;
    let all = |row| call.input.range(row).all(|item| criterion.yes.value(item));
    Ok(Output::Truth(Truth::known(BooleanBuffer::collect_bool(
        call.input.rows(),
        all,
    ))))
}

type ItemRange = std::ops::Range<usize>;

/// Returns a boolean for each row. `verdict` computes it from the row's items, which must be booleans. Records an error
/// for a row with an item that is not a boolean.
fn every_row(
    call: &Invocation<'_>,
    verdict: impl Fn(&mut ItemRange, &dyn Fn(usize) -> Option<bool>) -> bool,
) -> Result<Output, FhirPathError> {
    for row in 0..call.input.rows() {
        let odd = call
            .input
            .range(row)
            .map(|item| call.input.item(item).0.item_type())
            .find(|item_type| item_type.system() != Some(System::Boolean));
        if let Some(odd) = odd {
            call.problem(row, format!("expects Booleans, not a {odd}"));
        }
    }
    let value = |item: usize| {
        let (items, item) = call.input.item(item);
        items.boolean(item)
    };
    let of = |row| verdict(&mut call.input.range(row), &value);
    Ok(Output::Truth(Truth::known(BooleanBuffer::collect_bool(
        call.input.rows(),
        of,
    ))))
}
