//! Turns a syntax tree into a resolved program: every name becomes an R4 column, a constant or a function, and the
//! possible types of the result's items are known. An expression that can never work is an error here, with its
//! position. During an evaluation, an error concerns a single row or a limit.

mod calls;
mod compiler;
mod expression;
mod forms;
mod json_names;
pub(super) mod leaves;
mod names;
pub(super) mod node;
pub(super) mod options;
mod order;
mod shapes;
mod steps;
pub(super) mod typed;
pub(super) mod types;

pub use expression::compile;
pub(super) use expression::shapes;
pub(super) use shapes::Shapes;
