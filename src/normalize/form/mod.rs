//! The form of a record: systems, codes, displays, required elements.
//!
//! Decides how codes are written, and which placeholders replace missing elements. If a coding changes, the source's
//! own coding stays beside it: in a list as the next item, elsewhere in an extension. `links` decides which resource a
//! reference means.

mod additions;
mod check;
mod coding;
pub(super) mod displays;
mod edit;
mod editor;
mod facts;
mod memo;
mod required;
pub mod systems;

pub use check::{Fault, Problem, check};
pub use coding::canonical_code;
pub(super) use displays::key as display_key;
pub(super) use edit::{edit, rewrite};
pub(super) use editor::unmapped_ndc;
pub use facts::Facts;
pub use systems::canonical_system;
