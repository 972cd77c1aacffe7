//! Tables that publishers ship, kept beside the lake: how their files are found and read, and how the folder that keeps
//! the tables made of them is replaced and watched. What a table holds is decided by the rooms that use this one.
//!
//! A file's name decides nothing but a version or a year that stands in it. Text is UTF-8, or else Windows-1252, as
//! CMS, FDA and NUCC write it. A line that does not have its file's layout is an error that names it.

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
