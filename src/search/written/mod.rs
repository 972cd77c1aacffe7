//! Parts of search plans in a form that can be sent to another process. A criterion is written as the text of its
//! parameter, with the ids that answered its conditions on other resources. A sort key is written as the name of its
//! parameter, and the boundary of a page as the locator of a match. The reader resolves the texts again.
//!
//! This module writes the parts, not the plans. The reader needs an engine with the same search parameters and the same
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
