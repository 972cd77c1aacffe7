//! The table of all functions, family by family. Also the names of further functions, which the compiler resolves
//! without the table.

use super::signature::Function;
use super::{collections, fhir, values};

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
pub(in crate::fhirpath) const INDEXER: &str = "[]";

/// Returns the function with this name from the table. `None` if there is none.
pub(in crate::fhirpath) fn lookup(name: &str) -> Option<&'static Function> {
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .find(|function| function.name == name)
}

/// The functions of expressions that are not in the table. The compiler resolves them itself. They are type tests,
/// `extension(url)`, steps to all children, and functions that are bound to value sets, types or names at compile time.
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

/// Returns the names of all functions that an expression may call, family by family.
pub fn functions() -> impl Iterator<Item = &'static str> {
    let families = FAMILIES.iter().flat_map(|family| family.iter());
    let named = families.map(|function| function.name).filter(|name| *name != INDEXER);
    named.chain(SPECIAL_FORMS)
}
