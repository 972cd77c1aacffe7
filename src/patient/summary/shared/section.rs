//! The types of a section.

use super::super::record::Chart;

/// A section.
#[derive(Debug)]
pub(in crate::patient::summary) struct Section {
    /// Its name in requests.
    pub(in crate::patient::summary) alias: &'static str,
    /// Its code in LOINC.
    pub(in crate::patient::summary) code: &'static str,
    /// LOINC's display of the code.
    pub(in crate::patient::summary) display: &'static str,
    /// Its title.
    pub(in crate::patient::summary) title: &'static str,
    /// The columns of its narrative.
    pub(in crate::patient::summary) columns: &'static [&'static str],
    /// Its text if there are no records.
    pub(in crate::patient::summary) nothing: &'static str,
    /// The records in it, in order.
    pub(in crate::patient::summary) rows: fn(&Chart<'_>) -> Vec<Row>,
}

/// A record in a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patient::summary) struct Row {
    /// Its index among the records.
    pub(in crate::patient::summary) entry: usize,
    /// A text for each column.
    pub(in crate::patient::summary) cells: Vec<String>,
}
