//! The types that describe a section.

use super::super::resource::Resource;

/// A section of the pages about one source. Each of its tables decides which resources it shows.
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
    /// Makes the rows of a resource: usually one. A resource with parts, such as the answers of a questionnaire, has
    /// several.
    pub(in crate::patient::pdf) rows: fn(&Resource<'_>) -> Vec<Vec<String>>,
}

impl Table {
    /// Returns the index of the widest column. If several columns are equally wide, returns the first of them.
    pub(in crate::patient::pdf) fn widest(&self) -> usize {
        let shares = self.columns.iter().map(|(_, share)| *share).enumerate();
        let widest = shares.reduce(|widest, next| if next.1 > widest.1 { next } else { widest });
        widest.map_or(0, |(place, _)| place)
    }
}
