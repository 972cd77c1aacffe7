//! JSON without loss. One pass checks a whole text against RFC 8259 and builds a flat tape of nodes over it. The tape
//! only points into the text, so order, digits, escapes and white space stay as they are.
//!
//! Errors are nesting deeper than [`MAX_DEPTH`], an escaped surrogate without its other half (it has no UTF-8 form),
//! and a text of 4 GiB or more. A leading byte order mark is skipped. Properties with the same name all stay on the
//! tape, and a lookup finds the last. It builds no values: numbers stay text, and a string is unescaped on demand.

mod cursor;
mod error;
mod parse;
mod pretty;
mod pull;
mod select;
mod text;
mod value;
mod write;

pub use error::{JsonError, MAX_DEPTH, Reason};
pub use parse::Tape;
pub use pretty::pretty;
pub use pull::Chosen;
pub use select::{Choice, Selection, Take};
pub use value::{Entries, Items, Key, Kind, Value};
pub use write::{Edits, push_quoted, write_compact, write_object};
