//! The options of a compilation, such as constants, and the columns that the caller will read of the result's items.

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

/// The variables whose values always come from the data, so that no constant can have their names.
pub const DATA_VARIABLES: [&str; 4] = ["context", "resource", "rootResource", "rowIndex"];

/// The variables with the address of a code system.
pub const SYSTEM_VARIABLES: [&str; 3] = ["ucum", "sct", "loinc"];

/// A function of the caller: for an output type, it returns the columns that the caller will read. See
/// [`CompileOptions::extra`].
pub type ExtraLeaves<'a> = &'a dyn Fn(TypeId) -> Option<Vec<&'static str>>;

/// How to compile an expression. `CompileOptions::default()` is a strict compilation without constants.
#[derive(Clone, Default)]
pub struct CompileOptions<'a> {
    /// If set, a step to an element that the items' type does not have yields an empty collection. Otherwise, such a
    /// step is an error.
    pub lenient: bool,
    /// The expression belongs to a search parameter: it is a union of paths over the parameter's types. A path of
    /// another type is empty instead of an error. `as` filters the items by type, even if there are several. A choice
    /// may have its JSON name (`valueDateTime`), as in published packages.
    pub search: bool,
    /// `resolve()` uses only the reference itself. It does not search contained resources, so the program does not read
    /// the column of the contained resources.
    pub references_alone: bool,
    /// Accepts JSON names where FHIRPath has other names. The JSON name of a choice (`valueCoding`) means the choice as
    /// that type, and `resourceType` means the type of a resource. [`Program::json_names`] lists the JSON names that
    /// the expression uses. Without this option, JSON names are errors, except for the choices that `search` accepts.
    pub json_names: bool,
    /// It is an error to use a function that depends on the order of items after a function that leaves the order
    /// undefined, as in `children().first()`.
    pub ordered: bool,
    /// Code systems and value sets for `memberOf`, `subsumes` and `subsumedBy`.
    pub terminology: Option<Arc<Terminology>>,
    /// The values of constants by name. `%name` has the value under the key `name`.
    pub constants: HashMap<String, Constant>,
    /// For each output type, the columns that the caller reads below an output item. `None` means the default: the
    /// value of a primitive (its text), or the presence of a complex item. For a complex type, `Some` lists dotted
    /// paths below it (`coding.system`, `value__number`, or `*` for everything). For a primitive type, `Some` replaces
    /// the default by a list of suffixes of its columns (`""` for the value, `__start`, `__end`, `__number`).
    pub extra: Option<ExtraLeaves<'a>>,
    /// The program whose output items are the contexts of the new program. The caller evaluates the new program with
    /// [`Program::evaluate_on`]. The leaves of the new program are still paths from the root of the table. `None` if
    /// the contexts are the rows of the table.
    pub context: Option<&'a Program>,
    /// The caller ignores duplicates in the result. So a `|` that yields the result keeps duplicates, and the program
    /// need not read whole complex items to compare them.
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
