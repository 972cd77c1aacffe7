//! The types of a section.

use super::super::resource::Resource;

/// A section: tables with conditions on their resources.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Section {
    pub(in crate::patient::pdf) title: &'static str,
    pub(in crate::patient::pdf) tables: &'static [Table],
}

/// A table of a section.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Table {
    /// Its name for screen readers, and its heading if the section has several tables.
    pub(in crate::patient::pdf) title: &'static str,
    /// Whether a resource belongs in it.
    pub(in crate::patient::pdf) takes: fn(&Resource<'_>) -> bool,
    /// The titles of columns and their shares of the width.
    pub(in crate::patient::pdf) columns: &'static [(&'static str, f32)],
    /// The properties that order rows, newest first.
    pub(in crate::patient::pdf) dates: &'static [&'static str],
    /// The rows of a resource: one, or several if it has parts.
    pub(in crate::patient::pdf) rows: fn(&Resource<'_>) -> Vec<Vec<String>>,
}

impl Table {
    /// The place of the widest column.
    pub(in crate::patient::pdf) fn widest(&self) -> usize {
        let shares = self.columns.iter().map(|(_, share)| *share).enumerate();
        let widest = shares.reduce(|widest, next| if next.1 > widest.1 { next } else { widest });
        widest.map_or(0, |(place, _)| place)
    }
}
