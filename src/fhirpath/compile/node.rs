//! The resolved program: every name is a column, a constant or a function. It also has the facts about a result that
//! are known before any data is read.

use std::sync::Arc;

use super::super::error::Position;
use super::super::evaluate::navigate::Branch;
use super::super::functions::Function;
use super::super::syntax::ast::Operator;
use super::super::values::items::Items;
use super::types::{ItemType, TypeTest};
use crate::fhir::TypeId;
use crate::terminology::{Terminology, ValueSet};

/// The name of a step to every element.
pub(in crate::fhirpath) const ALL_CHILDREN: &str = "*";

/// A part of a resolved program.
#[derive(Debug)]
pub(in crate::fhirpath) enum Node {
    /// No items.
    Empty,
    /// `$this`, also the context of a bare name.
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
    /// The value that `defineVariable` gave to a name.
    Variable(usize),
    /// `%rowIndex`.
    RowIndex,
    /// A literal or constant: one item.
    Constant(Items),
    /// The items of a constant expression, the same for every row.
    Fixed(Box<Node>),
    /// An element. All elements if the name is [`ALL_CHILDREN`].
    Step {
        on: Box<Node>,
        name: Box<str>,
        by: Vec<(TypeId, Vec<Branch>)>,
        /// Whether the step leads into resources whose types only the data show.
        open: bool,
        /// Whether the name may be a JSON name, which consists of a choice's name and a type.
        json: bool,
        at: Position,
    },
    /// Only the items of a type.
    OfType { on: Box<Node>, test: TypeTest },
    /// Whether the single item has a type.
    Is {
        on: Box<Node>,
        test: TypeTest,
        at: Position,
    },
    /// A function.
    Call(Box<Call>),
    /// A sign.
    Sign {
        negative: bool,
        on: Box<Node>,
        at: Position,
    },
    /// An operator.
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
        at: Position,
    },
    /// `|` without removing equal items.
    Concatenation(Box<Node>, Box<Node>),
}

impl Node {
    /// Whether the node consists of literals only.
    pub(in crate::fhirpath) fn is_fixed(&self) -> bool {
        matches!(self, Node::Empty | Node::Constant(_) | Node::Fixed(_))
    }

    /// The node to evaluate for one row.
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
    /// Evaluated in the function's own context, once per row.
    Value(Node),
    /// Evaluated with the input's items as rows.
    Each(Node),
    /// Evaluated with the input's items as rows, to sort them.
    Key { node: Node, descending: bool },
    /// A type.
    Type(TypeTest),
    /// A value set that the argument named.
    ValueSet(Arc<ValueSet>),
    /// The terminology in which the function looks codes up.
    Terminology(Arc<Terminology>),
    /// The index of the defined variable.
    Variable(usize),
}

/// The static facts about a collection.
#[derive(Clone, Debug, Default)]
pub(in crate::fhirpath) struct Shape {
    /// The possible sources of its items. Without sources the result is always empty.
    pub(in crate::fhirpath) sources: Vec<Source>,
    /// Whether a row may have several items.
    pub(in crate::fhirpath) many: bool,
}

/// A possible source of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::fhirpath) struct Source {
    pub(in crate::fhirpath) item_type: ItemType,
    /// The items' column, as a path from the table's root (`""` for the root itself). `None` for computed values.
    pub(in crate::fhirpath) path: Option<Arc<str>>,
    /// Whether the column is JSON text that contains the items, or is the item.
    pub(in crate::fhirpath) inside: bool,
}

impl Source {
    /// Whether the source stands for resources whose types only the data show.
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

    /// The types, for messages.
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
