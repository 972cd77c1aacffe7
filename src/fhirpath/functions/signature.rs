//! The definition of a function: its parameters, the part of its input that it reads, the types of its result, and how
//! it runs.

use std::fmt;

use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;

/// A row of the function table.
pub(in crate::fhirpath) struct Function {
    pub(in crate::fhirpath) name: &'static str,
    pub(in crate::fhirpath) parameters: &'static [Parameter],
    /// The number of required parameters.
    pub(in crate::fhirpath) required: usize,
    /// The parts of its input's items that the function reads.
    pub(in crate::fhirpath) reads: Need,
    /// The possible types of its result.
    pub(in crate::fhirpath) shape: fn(&Signature<'_>) -> Shape,
    pub(in crate::fhirpath) run: fn(&Invocation<'_>) -> Result<Output, FhirPathError>,
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}()", self.name)
    }
}

/// How an argument is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) enum Parameter {
    /// A value, evaluated and read once per row.
    Value,
    /// A collection whose items may be part of the result. Evaluated once per row.
    Items,
    /// An expression over each item of the input. Its result is read as a boolean or not at all.
    Each,
    /// An expression over each item of the input. Its items may be part of the result.
    EachItems,
    /// An expression over each item of the input, and then over each item of its own results.
    Repeated,
    /// An expression over each item of the input. It also sees `$total`, its own result for the previous item.
    Folded,
    /// An expression over each item of the input that sorts the items. A leading minus reverses the order.
    Key,
    /// A type's name.
    Type,
}

/// The parts of items that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) enum Need {
    /// Nothing. The use of the function's result decides what is read.
    Nothing,
    /// The number of items.
    Presence,
    /// The value of primitives and quantities, and everything of other complex items.
    Value,
    /// Everything that distinguishes an item from others: all columns below it, and the id and extensions of
    /// primitives.
    Content,
    /// All columns below the item.
    Whole,
    /// Codes with their systems.
    Codes,
    /// The parts with the type and id of a reference's target.
    Reference,
    /// The id of a resource.
    Key,
}

/// The facts that are known when a call is resolved.
pub(in crate::fhirpath) struct Signature<'a> {
    pub(in crate::fhirpath) input: &'a Shape,
    /// One shape per argument. Empty for types.
    pub(in crate::fhirpath) arguments: &'a [Shape],
}

pub(super) fn string(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::String))
}

pub(super) fn boolean(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Boolean))
}

pub(super) fn integer(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Integer))
}

pub(super) fn input(signature: &Signature<'_>) -> Shape {
    signature.input.clone()
}

pub(super) fn one_of_input(signature: &Signature<'_>) -> Shape {
    signature.input.clone().single()
}
