//! Temporary files, encrypted in every kind of lake under a key that exists only in this process's memory. Nobody can
//! read the files of a killed process, or what the disk keeps of removed files. A changed byte is noticed.
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
