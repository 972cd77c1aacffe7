//! Temporary files, encrypted under a key that exists only in this process's memory, in every kind of lake. Nobody can
//! read what a killed process leaves, or what the disk keeps of removed files. A changed byte is noticed.
//!
//! This room decides how such files are written and read. Callers decide what goes into them.

mod file;
mod parts;
mod place;
mod text;

pub(crate) use file::ScratchFile;
pub(crate) use parts::Parts;
pub(crate) use text::ScratchKey;
pub(crate) use text::TextWriter;
pub use text::{TextFile, TextReader};
