//! JSON as it was written: one pass checks a whole text against RFC 8259 and lays a flat tape of nodes over it. Order,
//! digits, escapes and white space stay as they are in the text, which the tape only points into.
//!
//! What it decides: nesting deeper than [`MAX_DEPTH`] is an error, so is an escaped surrogate without its other half
//! (it has no UTF-8 form), and so is a text of 4 GiB or more. A byte order mark in front is skipped. Of properties with
//! the same name both stay on the tape, and a lookup finds the last. It builds no values: numbers stay text, and a
//! string is unescaped when somebody asks for it.

mod cursor;
mod parse;
mod pull;
mod select;
mod text;
mod value;
mod write;

pub use parse::{JsonError, MAX_DEPTH, Reason, Tape};
pub use pull::Chosen;
pub use select::{Choice, Selection, Take};
pub use value::{Entries, Items, Key, Kind, Value};
pub use write::{Edits, push_quoted, write_compact, write_object};
