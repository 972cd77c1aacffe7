//! Turns a syntax tree into a resolved program: every name becomes an R4 column, a constant or a function, with the
//! possible types of its items. An expression that can never work is refused here, with its position. Later errors
//! belong to rows.

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
