//! Maintenance of a data folder: the background work of a server for its lake, and the operations that operators run on
//! a whole folder.
//!
//! This module decides the order of operations of `lake`, `consent` and the tables beside them. `lake` decides how a
//! file is merged, erased or sealed. `cli` decides what commands print.

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
