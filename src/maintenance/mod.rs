//! Maintenance of a data folder: what a server does for its lake in the background, and what operators have done to a
//! whole folder.
//!
//! This room puts the operations of `lake`, `consent` and the tables beside them in order. How a file is merged, erased
//! or sealed is `lake`'s; what commands print is `cli`'s.

mod before;
mod check;
mod convert;
mod erase;
mod upkeep;

pub use before::{Before, ForeignFolder};
pub use check::{Beside, check_beside};
pub use convert::{ConvertError, convert};
pub use erase::{PersonErased, PersonErasure, PersonErasureError, Staying};
pub use upkeep::Upkeep;
