//! The types that describe a section.

use super::super::resource::Resource;

/// A section of a source's part: its tables, which choose their resources.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Section {
    pub(in crate::patient::pdf) title: &'static str,
    pub(in crate::patient::pdf) tables: &'static [Table],
}

/// A table of a section.
#[derive(Debug)]
pub(in crate::patient::pdf) struct Table {
    /// The table's name for screen readers. It is also the table's heading if the section has several tables.
    pub(in crate::patient::pdf) title: &'static str,
    /// Whether the table shows a resource. A resource goes into the first table for which this is true.
    pub(in crate::patient::pdf) takes: fn(&Resource<'_>) -> bool,
    /// The titles of the columns and their shares of the width.
    pub(in crate::patient::pdf) columns: &'static [(&'static str, f32)],
    /// The date properties by which the rows are sorted, newest first.
    pub(in crate::patient::pdf) dates: &'static [&'static str],
    /// Makes the rows of a resource: one, or several if it has parts.
    pub(in crate::patient::pdf) rows: fn(&Resource<'_>) -> Vec<Vec<String>>,
}

impl Table {
    /// Returns the index of the widest column, the first of them if several are equally wide.
    pub(in crate::patient::pdf) fn widest(&self) -> usize {
        let shares = self.columns.iter().map(|(_, share)| *share).enumerate();
        let widest = shares.reduce(|widest, next| if next.1 > widest.1 { next } else { widest });
        widest.map_or(0, |(place, _)| place)
    }
}
