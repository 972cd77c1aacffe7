//! JSON without loss. One pass checks a whole text against RFC 8259 and builds a flat tape of nodes over it. The tape
//! only points into the text, so order, digits, escapes and white space stay as they are.
//!
//! In addition to RFC 8259, the parser refuses nesting deeper than [`MAX_DEPTH`], an escaped surrogate without its
//! other half (it has no UTF-8 form), and a text of `u32::MAX` bytes or more. It skips a leading byte order mark.
//! Properties with the same name all stay on the tape, and a lookup finds the last. The parser converts no values:
//! numbers stay text, and a string is unescaped when a caller reads it.

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
