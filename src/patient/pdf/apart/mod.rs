//! Makes a file with attachments in a process of its own, because attachments may be made to harm their reader.
//!
//! The process gets the records and asks for the documents. It reads them, makes the whole file and sends it. This
//! process never parses a byte of an attachment or of the file. If an attachment ends the process, it becomes a
//! placeholder and the file is made again. Files without attachments are made here.
//!
//! Invariant: a process serves one request. Invariant: whatever the process sends, the request ends, with a file or an
//! error.

mod attempt;
mod inside;
mod made;
mod message;
mod reader;
mod request;
mod trial;
mod verdict;

pub use inside::serve;
pub use made::{made, quickly};
pub use reader::{Bounds, Reader};

/// The argument with which the program is started to read attachments.
pub const COMMAND: &str = "read-attachments";
