//! Temporary files. They are encrypted even in an open lake, under a key that exists only in this process's memory. So
//! nobody can read the files of a killed process, or what the disk still has of removed files. Reading fails if bytes
//! were changed.
//!
//! This module decides how such files are written and read. Callers decide what goes into them.

mod file;
mod parts;
mod place;
mod text;

pub(crate) use file::ScratchFile;
pub(crate) use parts::Parts;
pub(crate) use text::ScratchKey;
pub(crate) use text::TextWriter;
pub use text::{TextFile, TextReader};
