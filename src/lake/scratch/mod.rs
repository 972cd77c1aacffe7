//! Temporary files: encrypted under a key that is in this process's memory only, whatever kind of lake they lie beside.
//! What a killed process leaves, and what the disk keeps of removed files, nobody reads. A byte that was changed
//! meanwhile is noticed.
//!
//! This room decides how such files are written and read. What goes into them, others decide.

mod file;
mod parts;
mod place;
mod text;

pub(crate) use file::ScratchFile;
pub(crate) use parts::Parts;
pub(crate) use text::ScratchKey;
pub(crate) use text::TextWriter;
pub use text::{TextFile, TextReader};
