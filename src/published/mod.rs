//! Tables from publishers, kept beside the lake: finds and reads the files, and replaces and watches the folder of
//! tables made from them. The rooms that use this one decide the content of a table.
//!
//! A file's name decides only a version or a year. Text is UTF-8 or otherwise Windows-1252, as CMS, FDA and NUCC write
//! it. A line that does not fit its file's layout is an error that names it.

mod csv_table;
mod error;
mod folder;
mod lines;
pub(crate) mod name;
mod part;
mod read_once;
mod watched;

pub(crate) use csv_table::{CsvTable, header};
pub use error::PublishedError;
pub use folder::Shrink;
pub(crate) use folder::{Locked, TableFolder, shrinks};
pub(crate) use lines::{Lines, columns, decode};
pub(crate) use part::{MAX_DEPTH, Part, find};
pub(crate) use read_once::ReadOnce;
pub(crate) use watched::Watched;
