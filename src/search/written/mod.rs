//! Parts of search plans in written form. Criteria are the text of their parameters, with the ids that answered their
//! conditions on other resources. Sort keys are written by name, and a page by the match before it. The reader resolves
//! the texts again.
//!
//! This room writes the parts, not the plans. The reader needs an engine with the same search parameters and the same
//! terminology.

mod answers;
mod criterion;
mod error;
mod function;
mod named;
mod origin;
mod predicate;
mod source;

pub use error::WrittenError;
pub use function::order;
