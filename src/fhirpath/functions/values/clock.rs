//! The functions `now`, `today` and `timeOfDay`, in UTC. All calls in an evaluation see the same moment.

use super::super::signature::{Function, Need, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::builder::{Builder, Computed};
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::items::{Index, Items};

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "now",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: |_: &Signature<'_>| Shape::one(ItemType::System(System::DateTime)),
        run: |call| {
            same(
                call,
                Computed::DateTime(call.frame.now().format("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string()),
            )
        },
    },
    Function {
        name: "today",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: |_: &Signature<'_>| Shape::one(ItemType::System(System::Date)),
        run: |call| same(call, Computed::Date(call.frame.now().format("%Y-%m-%d").to_string())),
    },
    Function {
        name: "timeOfDay",
        parameters: &[],
        required: 0,
        reads: Need::Nothing,
        shape: |_: &Signature<'_>| Shape::one(ItemType::System(System::Time)),
        run: |call| {
            same(
                call,
                Computed::Time(call.frame.now().format("%H:%M:%S%.3f").to_string()),
            )
        },
    },
];

fn same(call: &Invocation<'_>, value: Computed) -> Result<Output, FhirPathError> {
    let mut builder = Builder::new(1);
    builder.push(value);
    builder.end_row();
    let rows = call.input.rows();
    Ok(Output::Items(match builder.finish()?.single() {
        Some(items) => Collection::each(Items {
            index: Index::Constant(0),
            len: rows,
            ..items.clone()
        }),
        None => Collection::empty(rows),
    }))
}
