//! Parts of a collection by position: `first`, `last`, `tail`, `skip`, `take`, `single`, and the indexer.

use std::ops::Range;

use super::super::signature;
use super::super::signature::{Function, Need, Parameter};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::collection::{Collection, Offsets};

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "first",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: signature::one_of_input,
        run: |call| Ok(Output::Items(first(&call.input))),
    },
    Function {
        name: "last",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: signature::one_of_input,
        run: |call| {
            Ok(Output::Items(part(&call.input, |_, range| {
                range.end.saturating_sub(1).max(range.start)..range.end
            })))
        },
    },
    Function {
        name: "tail",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: signature::input,
        run: |call| {
            Ok(Output::Items(part(&call.input, |_, range| {
                (range.start + 1).min(range.end)..range.end
            })))
        },
    },
    Function {
        name: "skip",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Nothing,
        shape: signature::input,
        run: |call| {
            bounded(call, |range, count| {
                range.start.saturating_add(count).min(range.end)..range.end
            })
        },
    },
    Function {
        name: "take",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Nothing,
        shape: signature::input,
        run: |call| {
            bounded(call, |range, count| {
                range.start..range.start.saturating_add(count).min(range.end)
            })
        },
    },
    Function {
        name: "single",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: signature::one_of_input,
        run: single,
    },
    Function {
        name: "[]",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Nothing,
        shape: signature::one_of_input,
        run: indexer,
    },
];

/// The first part of `as`: it checks that there is at most one item. The type test follows.
pub(in crate::fhirpath) const SINGLE_OF_AS: Function = Function {
    name: "as",
    parameters: &[],
    required: 0,
    reads: Need::Nothing,
    shape: signature::one_of_input,
    run: single,
};

/// Keeps a range of each row's items. `of` gets the number of a row and the range of the row's items, and returns the
/// range to keep.
pub(in crate::fhirpath::functions) fn part(
    input: &Collection,
    of: impl Fn(usize, Range<usize>) -> Range<usize>,
) -> Collection {
    let mut offsets = Vec::with_capacity(input.rows() + 1);
    let mut places = Vec::new();
    offsets.push(0);
    for row in 0..input.rows() {
        places.extend(of(row, input.range(row)).map(|item| item as u32));
        offsets.push(places.len() as i32);
    }
    input.take(Offsets::list(offsets), places)
}

/// Returns the first item of each row.
pub(in crate::fhirpath::functions) fn first(input: &Collection) -> Collection {
    match input.offsets() {
        Offsets::Each(_) => input.clone(),
        Offsets::List(_) => part(input, |_, range| range.start..range.end.min(range.start + 1)),
    }
}

fn bounded(call: &Invocation<'_>, of: impl Fn(Range<usize>, usize) -> Range<usize>) -> Result<Output, FhirPathError> {
    let counts = call.integers(0)?;
    Ok(Output::Items(part(&call.input, |row, range| match counts[row] {
        Some(count) => of(range, usize::try_from(count).unwrap_or(0)),
        None => range.start..range.start,
    })))
}

fn single(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    Ok(Output::Items(part(&call.input, |row, range| {
        if range.len() > 1 {
            call.frame.not_single(row, range.len(), call.name(), call.at());
        }
        range
    })))
}

fn indexer(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let places = call.integers(0)?;
    Ok(Output::Items(part(&call.input, |row, range| {
        let place = places[row].and_then(|place| usize::try_from(place).ok());
        match place.filter(|place| *place < range.len()) {
            Some(place) => range.start + place..range.start + place + 1,
            None => range.start..range.start,
        }
    })))
}
