//! The functions, one file per family. Each family is a table of [`Function`]s, and `lookup` searches all of them. To
//! add a function, write its row and its `run` in the family's file.

mod collections;
mod fhir;
mod signature;
mod values;

pub(super) use collections::control::{COALESCE, DEFINE_VARIABLE, DESCENDANTS};
pub(super) use collections::nodes::{CHECK_MODIFIERS, RESOURCE_TYPE};
pub(super) use collections::subsetting::SINGLE_OF_AS;
pub(super) use fhir::references::{RESOLVE_ALONE, is_reference};
pub(super) use fhir::terminology::{CONFORMS_TO, MEMBER_OF, SUBSUMED_BY, SUBSUMES, base_type, has_codes, is_coded};
pub(super) use signature::{Function, Need, Parameter, Signature};

const FAMILIES: &[&[Function]] = &[
    collections::existence::FUNCTIONS,
    collections::filtering::FUNCTIONS,
    collections::subsetting::FUNCTIONS,
    collections::combining::FUNCTIONS,
    values::strings::FUNCTIONS,
    values::regex::FUNCTIONS,
    values::math::FUNCTIONS,
    values::conversion::FUNCTIONS,
    values::dates::FUNCTIONS,
    collections::control::FUNCTIONS,
    collections::nodes::FUNCTIONS,
    fhir::references::FUNCTIONS,
    values::boundaries::FUNCTIONS,
    fhir::narrative::FUNCTIONS,
    values::clock::FUNCTIONS,
];

/// The name of `[...]` in the table.
pub(super) const INDEXER: &str = "[]";

/// The function with this name.
pub(super) fn lookup(name: &str) -> Option<&'static Function> {
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name == name)
}

/// Forms with the syntax of functions that the compiler resolves itself: type tests, `extension(url)`, steps to all
/// children, and forms bound to value sets, types or names at compile time.
const SPECIAL_FORMS: [&str; 13] = [
    "as",
    "checkModifiers",
    "children",
    "coalesce",
    "conformsTo",
    "defineVariable",
    "descendants",
    "extension",
    "is",
    "memberOf",
    "ofType",
    "subsumedBy",
    "subsumes",
];

/// The names of all functions that an expression may call, family by family.
pub fn functions() -> impl Iterator<Item = &'static str> {
    let families = FAMILIES.iter().flat_map(|family| family.iter());
    let named = families.map(|function| function.name).filter(|name| *name != INDEXER);
    named.chain(SPECIAL_FORMS)
}
