//! Functions of the items themselves, regardless of their position: `hasValue`, `getValue`, `type`, `precision`,
//! `comparable`, `checkModifiers` and `resourceType`.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields};

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhir::{Kind, facts};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::combine::flat_map;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::evaluate::opening::told_apart;
use crate::fhirpath::operators::types::target_type;
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::Items;
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::truth::Truth;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "hasValue",
        parameters: &[],
        required: 0,
        reads: Need::Presence,
        shape: signature::boolean,
        run: has_value,
    },
    Function {
        name: "getValue",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::one_of_input,
        run: get_value,
    },
    Function {
        name: "type",
        parameters: &[],
        required: 0,
        reads: Need::Presence,
        shape: type_info,
        run: |call| Ok(Output::Items(flat_map(&told_apart(&call.input), type_of))),
    },
    Function {
        name: "precision",
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape: signature::integer,
        run: precision,
    },
    Function {
        name: "comparable",
        parameters: &[Parameter::Value],
        required: 1,
        reads: Need::Value,
        shape: signature::boolean,
        run: comparable,
    },
];

/// `checkModifiers()`. The compiler passes the path to the URLs of an item's modifier extensions as the first argument.
/// The further arguments are the allowed URLs.
pub(in crate::fhirpath) const CHECK_MODIFIERS: Function = Function {
    name: "checkModifiers",
    parameters: &[],
    required: 0,
    reads: Need::Presence,
    shape: signature::input,
    run: check_modifiers,
};

/// `resourceType`: the JSON name for the type of a resource. FHIRPath has `type().name` in its place.
pub(in crate::fhirpath) const RESOURCE_TYPE: Function = Function {
    name: "resourceType",
    parameters: &[],
    required: 0,
    reads: Need::Reference,
    shape: signature::string,
    run: |call| Ok(Output::Items(flat_map(&told_apart(&call.input), type_names))),
};

fn type_info(signature: &Signature<'_>) -> Shape {
    Shape {
        many: signature.input.many,
        ..Shape::one(ItemType::System(System::TypeInfo))
    }
}

/// Returns for each row whether it has exactly one item, and this item is a primitive with a value.
fn has_value(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let has = |row: usize| {
        let range = call.input.range(row);
        let (items, item) = match range.len() {
            1 => call.input.item(range.start),
            _ => return false,
        };
        items.item_type().is_primitive() && items.has_value(item)
    };
    Ok(Output::Truth(Truth::known(arrow::buffer::BooleanBuffer::collect_bool(
        call.input.rows(),
        has,
    ))))
}

fn get_value(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    Ok(Output::Items(super::combining::keep(&call.input, |row, item| {
        let (items, place) = call.input.item(item);
        call.input.range(row).len() == 1 && items.item_type().is_primitive() && items.has_value(place)
    })))
}

/// Returns for each item its type. `items` are of one type, so all items of the result refer to the same slot.
fn type_of(items: &Items) -> Collection {
    let (namespace, name) = match items.item_type() {
        ItemType::Fhir(_) => ("FHIR", items.item_type().name()),
        ItemType::System(System::Target) => ("FHIR", "Resource"),
        ItemType::System(system) => ("System", system.name()),
    };
    let fields = Fields::from(vec![
        Field::new("namespace", DataType::Utf8, false),
        Field::new("name", DataType::Utf8, false),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![namespace])),
        Arc::new(StringArray::from(vec![name])),
    ];
    let values = Values::Struct(StructArray::new(fields, columns, None));
    Collection::each(Items::constant(ItemType::System(System::TypeInfo), values, items.len()))
}

/// Returns for each resource the name of its type, and for each target of a reference the type that the reference
/// states. Items that are not resources yield nothing.
fn type_names(items: &Items) -> Collection {
    let text = |name: Option<&str>| Values::Text(StringArray::from(vec![name]));
    let string = ItemType::System(System::String);
    match items.item_type() {
        ItemType::Fhir(type_id) if facts().get(type_id).kind == Kind::Resource && !facts().get(type_id).is_abstract => {
            let names = text(Some(items.item_type().name()));
            Collection::each(Items::constant(string, names, items.len()))
        }
        ItemType::System(System::Target) => {
            let names = (0..items.len()).map(|item| target_type(items, item));
            let names = Items::new(string, Values::Text(names.collect()));
            let kept = Collection::each(names);
            super::combining::keep(&kept, |_, item| kept.item(item).0.has_value(item))
        }
        _ => Collection::empty(items.len()),
    }
}

fn precision(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    call.map(|_, value| match value {
        Scalar::Integer(value) => Ok(Some(Computed::Integer(value.unsigned_abs().to_string().len() as i32))),
        Scalar::Long(value) => Ok(Some(Computed::Integer(value.unsigned_abs().to_string().len() as i32))),
        Scalar::Decimal(number) => Ok(Some(Computed::Integer(number.scale as i32))),
        Scalar::Beyond(..) => Ok(None),
        Scalar::Temporal(_, text) => Ok(Some(Computed::Integer(
            super::super::values::boundaries::digits(text) as i32
        ))),
        other => Err(format!("expects a number, date or time, not a {}", other.kind())),
    })
}

fn check_modifiers(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let node = call.node(0);
    let found = call.frame.within(&call.input, None, |inner| inner.items(node))?;
    let allowed = (1..call.call.arguments.len())
        .map(|argument| call.value(argument))
        .collect::<Result<Vec<Collection>, _>>()?;
    for row in 0..call.input.rows() {
        let allowed: Vec<&str> = allowed.iter().filter_map(|urls| call.text(urls, row)).collect();
        let urls = call.input.range(row).flat_map(|item| found.range(item));
        let mut urls = urls.map(|url| found.item(url)).map(|(items, url)| items.text(url));
        if urls.any(|url| url.is_none_or(|url| !allowed.contains(&url))) {
            call.problem(row, "there is a modifier extension that is not expected".to_string());
        }
    }
    Ok(Output::Items(call.input.clone()))
}

fn comparable(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let others = call.value(0)?;
    call.judge(|row, value| {
        let Some(other) = call.scalar(&others, row) else {
            return Ok(None);
        };
        Ok(match (value.quantity(), other.quantity()) {
            (Some(one), Some(other)) => Some(one.compare(&other).is_some()),
            _ => None,
        })
    })
}
