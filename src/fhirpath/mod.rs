//! FHIRPath: parses an expression to a syntax tree, compiles it to a typed program, and evaluates the program over
//! columns. View columns, search parameters and the command line use the same engine.

mod compile;
mod compiled;
mod error;
mod evaluate;
mod functions;
mod necessary;
mod operators;
mod program;
mod syntax;
mod values;

pub use compile::compile;
pub use compile::options::{CompileOptions, Constant, DATA_VARIABLES, ExtraLeaves, SYSTEM_VARIABLES};
pub use compile::typed::{Part, typed};
pub use compile::types::{ItemType, System};
pub use compiled::{Evaluation, Fault, JsonName};
pub use error::{FhirPathError, Position};
pub use evaluate::focus::Focus;
pub use evaluate::origin::{Origin, Selection};
pub use evaluate::work::{Work, WorkBudget};
pub use functions::functions;
pub use necessary::necessary;
pub use program::Program;
pub use syntax::ast::{Expr, ExprKind, Literal, Operator, TypeName};
pub use syntax::parse::{MAX_HEIGHT, MAX_LENGTH, parse};
pub use values::collection::{Collection, Offsets, Typed};
pub use values::columns::Values;
pub use values::items::Items;
