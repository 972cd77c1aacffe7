//! A place inside a ViewDefinition, as messages name it: `ViewDefinition.select[0].column[2].path`.

use std::fmt;

/// The path from the ViewDefinition down to a property.
#[derive(Clone, Copy, Debug)]
pub(in crate::views) enum ElementPath<'a> {
    Root,
    Property(&'a ElementPath<'a>, &'a str),
    Item(&'a ElementPath<'a>, usize),
}

impl<'a> ElementPath<'a> {
    pub(in crate::views) fn property(&'a self, name: &'a str) -> ElementPath<'a> {
        ElementPath::Property(self, name)
    }

    pub(in crate::views) fn item(&'a self, index: usize) -> ElementPath<'a> {
        ElementPath::Item(self, index)
    }
}

impl fmt::Display for ElementPath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementPath::Root => formatter.write_str("ViewDefinition"),
            ElementPath::Property(parent, name) => write!(formatter, "{parent}.{name}"),
            ElementPath::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}
