//! The origins of a program's result: the columns that contain its items. With the origins, a caller can answer some
//! questions from statistics or dictionary codes of the columns, without an evaluation.

use super::super::compile::node::{Argument, Call, Node};
use super::super::compile::types::ItemType;
use super::super::program::Program;
use crate::fhir::TypeId;

/// A column that can contain items of the result, and the type of these items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'p> {
    /// The type of the items.
    pub item_type: ItemType,
    /// The column's dotted path from the table's root. `None` for computed items, for items inside JSON text, and if
    /// there are too many columns to track them.
    pub path: Option<&'p str>,
}

/// Which of the items in the columns of its origins a program yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The program yields all items of its origins.
    All,
    /// The program yields the references whose targets have this type: `where(resolve() is Patient)`.
    PointingTo(TypeId),
    /// The program yields some items. Only an evaluation can tell which.
    Some,
}

impl Program {
    /// Returns every column from which an item of the result can come.
    pub fn origins(&self) -> impl ExactSizeIterator<Item = Origin<'_>> {
        self.inner.shape.sources.iter().map(|source| Origin {
            item_type: source.item_type,
            path: source.path.as_deref().filter(|_| !source.inside),
        })
    }

    /// Returns which of the items in the columns of its origins the program yields.
    pub fn selection(&self) -> Selection {
        match &self.inner.node {
            Node::Call(call) => pointing(call).unwrap_or(Selection::Some),
            node if is_plain(node) => Selection::All,
            _ => Selection::Some,
        }
    }
}

/// Whether a node consists only of steps, type tests and their unions. Such a node yields all items of its columns that
/// have the right types.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::This | Node::Resource | Node::RootResource | Node::Context => true,
        Node::Step { on, .. } | Node::OfType { on, .. } => is_plain(on),
        Node::Concatenation(left, right) => is_plain(left) && is_plain(right),
        _ => false,
    }
}

/// Returns [`Selection::PointingTo`] if the call is `path.where(resolve() is T)` and `path` itself yields all items of
/// its columns. `None` for any other call.
fn pointing(call: &Call) -> Option<Selection> {
    if call.function.name != "where" || !is_plain(&call.on) {
        return None;
    }
    let [Argument::Each(Node::Is { on, test, .. })] = call.arguments.as_slice() else {
        return None;
    };
    let Node::Call(inner) = on.as_ref() else { return None };
    let resolves = inner.function.name == "resolve" && matches!(inner.on, Node::This) && inner.arguments.is_empty();
    resolves.then_some(())?;
    test.fhir.map(Selection::PointingTo)
}
