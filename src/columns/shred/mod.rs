//! JSON to Arrow: resources of one type become rows of nested columns, typed by R4.
//!
//! What it decides (and `LAYOUT.md` tells with an example): columns appear when a value is first seen and a batch has
//! only those with a value; they stand in definition order; a value of another JSON kind than its R4 type asks for is
//! absent, as are `null`, `[]`, and objects and arrays without any value that R4 defines. Values are not validated
//! beyond that. A row is either taken whole or refused whole.
//!
//! It writes no files and gives no ids: the batch goes to `layout` and `file`.

mod clip;
mod column;
mod companion;
mod fields;
mod leaf;
mod list;
mod presence;
mod shredder;
mod system;

pub use clip::Clip;
pub use shredder::{MAX_BATCH_BYTES, MAX_BATCH_WIDTH, MAX_COLUMNS, ShredError, Shredder};
pub use system::SystemValues;
