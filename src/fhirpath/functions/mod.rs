//! The functions, one file per family. Each family is a table of [`Function`]s; `lookup` searches them all. To add a function,
//! write its row and its `run` in the family's file.

mod existence;
mod filtering;
mod references;
mod signature;
mod subsetting;

pub(super) use signature::{Function, Need, Parameter, Signature};

/// The function of this name.
pub(super) fn lookup(name: &str) -> Option<&'static Function> {
    const FAMILIES: &[&[Function]] = &[
        existence::FUNCTIONS,
        filtering::FUNCTIONS,
        references::FUNCTIONS,
        subsetting::FUNCTIONS,
    ];
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name == name)
}

/// The name that `[...]` goes by in the table.
pub(super) const INDEXER: &str = "[]";
