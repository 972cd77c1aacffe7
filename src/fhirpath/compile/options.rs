//! The options of a compilation: constants, leniency, and the leaves that the caller will read below the result.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::super::program::Program;
use super::super::syntax::ast::Literal;
use crate::fhir::TypeId;
use crate::terminology::Terminology;

/// The value of a constant `%name`, as a FHIRPath literal: `Constant::String("x".into())`,
/// `Constant::Date("2024-01".into())`.
pub type Constant = Literal;

/// Returns the columns below an output type that the caller will read: see [`CompileOptions::extra`].
pub type ExtraLeaves<'a> = &'a dyn Fn(TypeId) -> Option<Vec<&'static str>>;

/// How to compile an expression. `CompileOptions::default()` is a strict compilation without constants.
#[derive(Clone, Default)]
pub struct CompileOptions<'a> {
    /// A step to an element that the type of the items does not have yields an empty collection instead of an error.
    pub lenient: bool,
    /// The expression belongs to a search parameter: it is a union of paths over the parameter's types. A path of
    /// another type is empty instead of an error, and `as` selects among several items. A choice may have its JSON name
    /// (`valueDateTime`), as in published packages.
    pub search: bool,
    /// `resolve()` uses only the reference itself. It does not search contained resources, so the program does not read
    /// the column of the contained resources.
    pub references_alone: bool,
    /// Accepts JSON names where FHIRPath has other names. The JSON name of a choice (`valueCoding`) means the choice as
    /// that type, and `resourceType` means the type of a resource. [`Program::json_names`] lists the JSON names that
    /// the expression uses. Without this option, JSON names are errors.
    pub json_names: bool,
    /// It is an error to use a function that depends on the order of items after a function that leaves the order
    /// undefined, as in `children().first()`.
    pub ordered: bool,
    /// Code systems and value sets for `memberOf`, `subsumes` and `subsumedBy`.
    pub terminology: Option<Arc<Terminology>>,
    /// The values of `%name`.
    pub constants: HashMap<String, Constant>,
    /// For each output type, the columns that the caller reads below an output item. `None` means the default: the
    /// value of a primitive (its text), or the presence of a complex item. For a complex type, `Some` lists dotted
    /// paths below it (`coding.system`, `value__number`, or `*` for everything). For a primitive type, `Some` replaces
    /// the default by a list of suffixes of its columns (`""` for the value, `__start`, `__end`, `__number`).
    pub extra: Option<ExtraLeaves<'a>>,
    /// The program whose output items are the contexts of the new program. The new program is evaluated with
    /// [`Program::evaluate_on`]. Its leaves are paths from the root of the table in any case.
    pub context: Option<&'a Program>,
    /// The caller ignores duplicates in the result. Then a `|` at the end keeps duplicates, so the program need not
    /// read whole complex items to compare them.
    pub duplicates: bool,
}

impl fmt::Debug for CompileOptions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CompileOptions")
            .field("lenient", &self.lenient)
            .field("search", &self.search)
            .field("references_alone", &self.references_alone)
            .field("json_names", &self.json_names)
            .field("ordered", &self.ordered)
            .field("terminology", &self.terminology.is_some())
            .field("constants", &self.constants)
            .field("extra", &self.extra.is_some())
            .field("context", &self.context.map(Program::text))
            .field("duplicates", &self.duplicates)
            .finish()
    }
}
