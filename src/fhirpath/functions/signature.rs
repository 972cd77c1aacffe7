//! The definition of a function: its parameters, what it reads of its input's items, the types of its result, and how
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
    /// The number of required arguments. Further parameters are optional.
    pub(in crate::fhirpath) required: usize,
    /// What the function reads of its input's items.
    pub(in crate::fhirpath) reads: Need,
    /// Computes the possible types and columns of the function's result from those of the input and arguments.
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
    /// An expression that is evaluated once per row. The function reads its value.
    Value,
    /// An expression that is evaluated once per row. Its items may be part of the function's result.
    Items,
    /// An expression that is evaluated on each item of the input. The function reads the result as a boolean (`where`)
    /// or does not read it (`trace`).
    Each,
    /// An expression that is evaluated on each item of the input. The items that it yields may be part of the
    /// function's result.
    EachItems,
    /// An expression that is evaluated on each item of the input, and then on each item that the expression itself has
    /// yielded.
    Repeated,
    /// An expression that is evaluated on each item of the input. `$total` is the expression's result for the previous
    /// item. For the first item, it is the start value.
    Folded,
    /// An expression that is evaluated on each item of the input and yields the item's sort key. A leading minus
    /// reverses the order.
    Key,
    /// The name of a type.
    Type,
}

/// What a function reads of its input's items. The compiler adds the columns for it to the columns that the program
/// reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fhirpath) enum Need {
    /// The function itself reads nothing of its input's items, for example `first()`. The use of the function's result
    /// decides what is read.
    Nothing,
    /// Only whether an item exists, so that the items can be counted.
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
    /// The parts of a reference that state the type and id of its target.
    Reference,
    /// The id of a resource.
    Key,
}

/// The shapes that are known when a call is resolved.
pub(in crate::fhirpath) struct Signature<'a> {
    pub(in crate::fhirpath) input: &'a Shape,
    /// The shape of each argument. For an argument that names a type, the shape is empty.
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
