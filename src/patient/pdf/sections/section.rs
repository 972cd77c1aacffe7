//! What a section is.

use super::super::resource::Resource;

/// A section: tables, each with the resources that it takes.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Section {
    pub(in crate::patient::pdf) title: &'static str,
    pub(in crate::patient::pdf) tables: &'static [Table],
}

/// A table of a section.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Table {
    /// What a screen reader says of it, and its heading where a section has several.
    pub(in crate::patient::pdf) title: &'static str,
    /// Whether a resource stands in it.
    pub(in crate::patient::pdf) takes: fn(&Resource<'_>) -> bool,
    /// Titles of columns, with their shares of the width.
    pub(in crate::patient::pdf) columns: &'static [(&'static str, f32)],
    /// The properties that order rows, newest first.
    pub(in crate::patient::pdf) dates: &'static [&'static str],
    /// The rows of a resource: one, or several where it has parts.
    pub(in crate::patient::pdf) rows: fn(&Resource<'_>) -> Vec<Vec<String>>,
}
