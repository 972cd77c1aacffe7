//! The resolved program: every name is a column, a constant or a function. A [`Shape`] states what is known about a
//! result before any data is read.

use std::sync::Arc;

use super::super::error::Position;
use super::super::evaluate::navigate::Branch;
use super::super::functions::Function;
use super::super::syntax::ast::Operator;
use super::super::values::items::Items;
use super::types::{ItemType, TypeTest};
use crate::fhir::TypeId;
use crate::terminology::{Terminology, ValueSet};

/// The name of a [`Node::Step`] that yields all elements.
pub(in crate::fhirpath) const ALL_CHILDREN: &str = "*";

/// A part of a resolved program.
#[derive(Debug)]
pub(in crate::fhirpath) enum Node {
    /// `{}`: the empty collection.
    Empty,
    /// `$this`. It is also the input of a path that begins with a name.
    This,
    /// `%resource`.
    Resource,
    /// `%rootResource`.
    RootResource,
    /// `%context`.
    Context,
    /// `$index`.
    Index,
    /// `$total`.
    Total,
    /// The value of the variable with this index, which `defineVariable` defined.
    Variable(usize),
    /// `%rowIndex`.
    RowIndex,
    /// A literal or constant: one item.
    Constant(Items),
    /// An expression that reads no data, so it yields the same items for every row.
    Fixed(Box<Node>),
    /// The elements with this name, or all elements if the name is [`ALL_CHILDREN`].
    Step {
        on: Box<Node>,
        name: Box<str>,
        by: Vec<(TypeId, Vec<Branch>)>,
        /// Whether the step starts at resources whose types are unknown until the data are read.
        open: bool,
        /// Whether the name may be the JSON name of a choice, such as `valueQuantity`.
        json: bool,
        at: Position,
    },
    /// Keeps only the items that have the type of `test`.
    OfType { on: Box<Node>, test: TypeTest },
    /// Whether the single item of the input has the type of `test`.
    Is {
        on: Box<Node>,
        test: TypeTest,
        at: Position,
    },
    /// A function call.
    Call(Box<Call>),
    /// A plus or minus sign before an operand.
    Sign {
        negative: bool,
        on: Box<Node>,
        at: Position,
    },
    /// An operator with two operands.
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
        at: Position,
    },
    /// The items of both operands. Unlike `|`, it does not drop equal items.
    Concatenation(Box<Node>, Box<Node>),
}

impl Node {
    /// Whether the node yields the same items for every row, because it reads no data.
    pub(in crate::fhirpath) fn is_fixed(&self) -> bool {
        matches!(self, Node::Empty | Node::Constant(_) | Node::Fixed(_))
    }

    /// Removes the wrapper [`Node::Fixed`]. The caller wraps the whole expression instead.
    pub(in crate::fhirpath) fn unfixed(self) -> Node {
        match self {
            Node::Fixed(node) => *node,
            node => node,
        }
    }
}

/// A function with its input and arguments.
#[derive(Debug)]
pub(in crate::fhirpath) struct Call {
    pub(in crate::fhirpath) function: &'static Function,
    pub(in crate::fhirpath) on: Node,
    pub(in crate::fhirpath) arguments: Vec<Argument>,
    pub(in crate::fhirpath) at: Position,
}

/// An argument of a function.
#[derive(Debug)]
pub(in crate::fhirpath) enum Argument {
    /// An expression that is evaluated once per row, in the context of the call.
    Value(Node),
    /// An expression that is evaluated once per item of the input, with the item as `$this`.
    Each(Node),
    /// A sort key that is evaluated once per item of the input, with the item as `$this`.
    Key { node: Node, descending: bool },
    /// A type.
    Type(TypeTest),
    /// The value set that the argument names.
    ValueSet(Arc<ValueSet>),
    /// The terminology in which the function looks codes up.
    Terminology(Arc<Terminology>),
    /// The index of the variable that the function defines.
    Variable(usize),
}

/// What is known about a collection before the evaluation.
#[derive(Clone, Debug, Default)]
pub(in crate::fhirpath) struct Shape {
    /// The possible sources of the items. Without a source, the collection is always empty.
    pub(in crate::fhirpath) sources: Vec<Source>,
    /// Whether a row may have several items.
    pub(in crate::fhirpath) many: bool,
}

/// A possible source of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::fhirpath) struct Source {
    pub(in crate::fhirpath) item_type: ItemType,
    /// The column of the items, as a path from the table's root (`""` for the root itself). `None` for computed items.
    /// Also `None` if the shape had too many sources: then the columns are no longer distinguished.
    pub(in crate::fhirpath) path: Option<Arc<str>>,
    /// Whether the column at `path` holds resources as JSON text, and the items are these resources or lie inside
    /// them.
    pub(in crate::fhirpath) inside: bool,
}

impl Source {
    /// Whether the items of this source are resources whose types are unknown until the data are read.
    pub(in crate::fhirpath) fn is_open(&self) -> bool {
        self.inside && self.item_type.is_any_resource()
    }
}

impl Shape {
    pub(in crate::fhirpath) fn one(item_type: ItemType) -> Shape {
        Shape {
            sources: vec![Source {
                item_type,
                path: None,
                inside: false,
            }],
            many: false,
        }
    }

    pub(in crate::fhirpath) fn single(mut self) -> Shape {
        self.many = false;
        self
    }

    pub(in crate::fhirpath) fn multiple(mut self) -> Shape {
        self.many = true;
        self
    }

    pub(in crate::fhirpath) fn join(mut self, other: &Shape) -> Shape {
        self.many |= other.many;
        self.add(other);
        self
    }

    pub(in crate::fhirpath) fn add(&mut self, other: &Shape) {
        self.add_all(other.sources.iter().cloned());
    }

    pub(in crate::fhirpath) fn add_all(&mut self, sources: impl IntoIterator<Item = Source>) {
        for source in sources {
            if !self.sources.contains(&source) {
                self.sources.push(source);
            }
        }
    }

    /// Returns the names of the possible types, for error messages.
    pub(in crate::fhirpath) fn names(&self) -> String {
        let mut names: Vec<&str> = self.sources.iter().map(|source| source.item_type.name()).collect();
        names.dedup();
        if names.is_empty() {
            "an empty collection".to_string()
        } else {
            names.join(" or ")
        }
    }
}
