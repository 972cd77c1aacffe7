//! The functions, one file per family. Each family is a table of [`Function`]s; `lookup` searches them all. To add a function,
//! write its row and its `run` in the family's file.

mod boundaries;
mod clock;
mod combining;
mod control;
mod conversion;
mod existence;
mod filtering;
mod math;
mod nodes;
mod references;
mod regex;
mod resolve;
mod signature;
mod strings;
mod subsetting;

pub(super) use control::DESCENDANTS;
pub(super) use references::{RESOLVE_ALONE, is_reference};
pub(super) use signature::{Function, Need, Parameter, Signature};
pub(super) use subsetting::SINGLE_OF_AS;

const FAMILIES: &[&[Function]] = &[
    existence::FUNCTIONS,
    filtering::FUNCTIONS,
    subsetting::FUNCTIONS,
    combining::FUNCTIONS,
    strings::FUNCTIONS,
    regex::FUNCTIONS,
    math::FUNCTIONS,
    conversion::FUNCTIONS,
    control::FUNCTIONS,
    nodes::FUNCTIONS,
    references::FUNCTIONS,
    boundaries::FUNCTIONS,
    clock::FUNCTIONS,
];

/// The name that `[...]` goes by in the table.
pub(super) const INDEXER: &str = "[]";

/// The function of this name.
pub(super) fn lookup(name: &str) -> Option<&'static Function> {
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name == name)
}

/// What is written like a function and resolved otherwise: type tests, `extension(url)`, and steps to all children.
const SPECIAL_FORMS: [&str; 6] = ["as", "children", "descendants", "extension", "is", "ofType"];

/// The names of all functions that an expression may call, family by family.
pub fn functions() -> impl Iterator<Item = &'static str> {
    let families = FAMILIES.iter().flat_map(|family| family.iter());
    let named = families.map(|function| function.name).filter(|name| *name != INDEXER);
    named.chain(SPECIAL_FORMS)
}
