//! The types that describe a section.

use super::super::record::Chart;

/// A section of the document.
#[derive(Debug)]
pub(in crate::patient::summary) struct Section {
    /// The name of the section in requests.
    pub(in crate::patient::summary) alias: &'static str,
    /// The section's LOINC code.
    pub(in crate::patient::summary) code: &'static str,
    /// LOINC's display of the code.
    pub(in crate::patient::summary) display: &'static str,
    /// The title in the document.
    pub(in crate::patient::summary) title: &'static str,
    /// The columns of the narrative's table.
    pub(in crate::patient::summary) columns: &'static [&'static str],
    /// The text of a section without records.
    pub(in crate::patient::summary) nothing: &'static str,
    /// Selects the records of the section and builds their rows, in order.
    pub(in crate::patient::summary) rows: fn(&Chart<'_>) -> Vec<Row>,
}

/// A row of a section, which shows one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patient::summary) struct Row {
    /// The index of the record in the chart.
    pub(in crate::patient::summary) entry: usize,
    /// A text for each column.
    pub(in crate::patient::summary) cells: Vec<String>,
}
