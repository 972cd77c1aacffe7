//! Parts of search plans as another process reads them: criteria by the text of their parameters, which is resolved
//! again there, with the ids by which conditions on other resources were answered; sort keys by name; pages by the
//! match that they lie behind.
//!
//! It says what the parts are, and nothing of plans. Who reads them back needs an engine with the same search
//! parameters and the same terminology.

mod answers;
mod criterion;
mod error;
mod function;
mod named;
mod predicate;
mod source;

pub use error::WrittenError;
pub use function::order;
