//! Tables that are made from publishers' files and stored in the data folder, beside the lake's own files. This
//! module finds and reads the publishers' files. It also replaces and watches the folders of tables. Its callers
//! decide what a table contains.
//!
//! The name of a file is used only for a version or a year. Text is UTF-8 or else Windows-1252, which CMS, FDA and
//! NUCC use. A line that does not have the layout of its file causes an error with the line's number.

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
