//! References and keys: `resolve`, `getResourceKey`, `getReferenceKey`.
//!
//! `getReferenceKey()` reads only the reference. The file `resolve` implements `resolve()`.

use arrow::array::{Array, AsArray};

use super::super::signature::{Function, Need, Parameter, Signature};
use super::resolve::{self, is_reference};
use crate::fhir::reference::Reference;
use crate::fhir::storage::REFERENCE_ID;
use crate::fhir::{Kind, facts};
use crate::fhirpath::compile::node::{Argument, Shape, Source};
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::evaluate::opening::opened;
use crate::fhirpath::operators::types::{accepts_named, target_type};
use crate::fhirpath::values::builder::{Builder, Computed};
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::Items;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "resolve",
        parameters: &[],
        required: 0,
        reads: Need::Reference,
        shape: targets,
        run: resolve::resolve,
    },
    Function {
        name: "getResourceKey",
        parameters: &[],
        required: 0,
        reads: Need::Key,
        shape: keys,
        run: resource_key,
    },
    Function {
        name: "getReferenceKey",
        parameters: &[Parameter::Type],
        required: 0,
        reads: Need::Reference,
        shape: keys,
        run: reference_key,
    },
];

/// `resolve()` for callers that need only what the reference itself states.
pub(in crate::fhirpath) const RESOLVE_ALONE: Function = Function {
    name: "resolve",
    parameters: &[],
    required: 0,
    reads: Need::Reference,
    shape: targets,
    run: |call| Ok(Output::Items(resolve::targets(&call.input))),
};

fn targets(signature: &Signature<'_>) -> Shape {
    let references = signature
        .input
        .sources
        .iter()
        .filter(|source| is_reference(source.item_type));
    let target = |source: &Source| Source {
        item_type: ItemType::System(System::Target),
        path: source.path.clone(),
        inside: source.inside,
    };
    let mut shape = Shape {
        sources: references.map(target).collect(),
        many: signature.input.many,
    };
    shape.sources.dedup();
    shape
}

fn keys(signature: &Signature<'_>) -> Shape {
    Shape {
        many: signature.input.many,
        ..Shape::one(ItemType::System(System::String))
    }
}

/// Returns the id of each resource as its key. `getReferenceKey()` returns the same key for a reference to the
/// resource.
fn resource_key(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let input = opened(&call.input, &|_| true);
    let key = |items: &Items| match items.item_type().fhir().map(|type_id| facts().get(type_id).kind) {
        Some(Kind::Resource) => match items.text_child("id") {
            Some(ids) => ids,
            None => Collection::empty(items.len()),
        },
        _ => Collection::empty(items.len()),
    };
    Ok(Output::Items(crate::fhirpath::evaluate::combine::flat_map(&input, key)))
}

fn reference_key(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let wanted = match call.call.arguments.first() {
        Some(Argument::Type(test)) => Some(*test),
        _ => None,
    };
    let key = |items: &Items| {
        let mut builder = Builder::new(items.len());
        for item in 0..items.len() {
            let fits =
                wanted.is_none_or(|test| target_type(items, item).is_some_and(|name| accepts_named(&test, name)));
            if let (true, Some(id)) = (fits, target_id(items, item)) {
                builder.push(Computed::String(id.to_string()));
            }
            builder.end_row();
        }
        builder.finish().unwrap_or_else(|_| Collection::empty(items.len()))
    };
    Ok(Output::Items(crate::fhirpath::evaluate::combine::flat_map(
        &call.input,
        key,
    )))
}

/// Returns the id in a relative reference. `None` for an absolute reference, because it points to another server. The
/// ids of that server differ from the ids of this server.
fn target_id(items: &Items, item: usize) -> Option<&str> {
    let Values::Struct(array) = items.values() else {
        return None;
    };
    if !is_reference(items.item_type()) {
        return None;
    }
    let slot = items.slot(item);
    let text = |name: &str| {
        let column = array.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(slot).then(|| column.value(slot))
    };
    text(REFERENCE_ID).or_else(|| match Reference::parse(text("reference")?) {
        Reference::Relative(target) => Some(target.id),
        _ => None,
    })
}
