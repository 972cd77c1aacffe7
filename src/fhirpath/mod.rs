//! FHIRPath: text to AST to typed, resolved program to columnar evaluation. One engine for view columns, search parameters
//! and the command line.

mod ast;
mod builder;
mod calendar;
mod collection;
mod combine;
mod compile;
mod error;
mod eval;
mod extract;
mod focus;
mod functions;
mod invocation;
mod items;
mod json;
mod leaves;
mod lineage;
mod literal;
mod navigate;
mod node;
mod number;
mod opening;
mod operators;
mod options;
mod origin;
mod parse;
mod program;
mod quantity;
mod scalar;
mod temporal;
mod truth;
mod types;
mod units;
mod values;

pub use ast::{Expr, ExprKind, Literal, Operator, TypeName};
pub use collection::{Collection, Offsets, Typed};
pub use error::{FhirPathError, Position};
pub use focus::Focus;
pub use functions::functions;
pub use items::Items;
pub use options::{CompileOptions, Constant, ExtraLeaves};
pub use origin::{Origin, Selection};
pub use parse::{MAX_HEIGHT, MAX_LENGTH, parse};
pub use program::{Evaluation, Fault, Program, compile};
pub use types::{ItemType, System};
pub use values::Values;
