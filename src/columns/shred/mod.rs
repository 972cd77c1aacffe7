//! JSON to Arrow: resources of one type become rows of nested columns, typed by R4.
//!
//! The rules are as follows (`LAYOUT.md` has an example). A column appears with its first value, and a batch has only
//! columns with a value. Columns are in definition order. A value of another JSON kind than its R4 type is absent,
//! and so are `null`, `[]`, and objects and arrays without any value that R4 defines. Values are not validated
//! further. A row is accepted or refused as a whole.
//!
//! This module writes no files and assigns no field ids. `layout` assigns the ids, and `lake::file` writes the
//! batches.

mod clip;
mod column;
mod companion;
mod fields;
mod integer;
mod leaf;
mod list;
mod presence;
mod shredder;
mod system;

pub use clip::Clip;
pub use shredder::{MAX_BATCH_BYTES, MAX_BATCH_WIDTH, MAX_COLUMNS, ShredError, Shredder};
pub use system::SystemValues;
