//! A place inside a ViewDefinition, as messages name it: `ViewDefinition.select[0].column[2].path`.

use std::fmt;

/// The way from the ViewDefinition down to a property.
#[derive(Clone, Copy, Debug)]
pub(in crate::views) enum Place<'a> {
    Root,
    Property(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    pub(in crate::views) fn property(&'a self, name: &'a str) -> Place<'a> {
        Place::Property(self, name)
    }

    pub(in crate::views) fn item(&'a self, index: usize) -> Place<'a> {
        Place::Item(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => formatter.write_str("ViewDefinition"),
            Place::Property(parent, name) => write!(formatter, "{parent}.{name}"),
            Place::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}
