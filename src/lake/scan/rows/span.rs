//! A span is the part of a table between two of its rows. Rows are ordered by the table's order of files, then by their
//! position in the file.

use std::fmt;
use std::ops::Range;

use super::super::lookup::locator::Locator;
use crate::lake::snapshot::{DataFile, TableSnapshot};

/// A span of a table's rows in the table's order. The default is the whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first row of the span. `None` if the span begins with the table.
    pub from: Option<Locator>,
    /// The first row after the span. `None` if the span ends with the table.
    pub until: Option<Locator>,
}

impl Span {
    /// Makes the span of all rows after a row.
    pub fn after(place: Locator) -> Span {
        let next = Locator {
            row: place.row.saturating_add(1),
            ..place
        };
        Span::from(next)
    }

    /// Makes the span of a row and all rows after it.
    pub fn from(place: Locator) -> Span {
        Span {
            from: Some(place),
            until: None,
        }
    }

    /// Makes the span of all rows before a row.
    pub fn before(place: Locator) -> Span {
        Span {
            from: None,
            until: Some(place),
        }
    }
}

/// Says which ends the span has, but not at which rows. The position of a row would reveal how many rows come before
/// it.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.from, self.until) {
            (None, None) => "all",
            (Some(_), None) => "from a row on",
            (None, Some(_)) => "up to a row",
            (Some(_), Some(_)) => "between two rows",
        })
    }
}

/// The key by which a table's files are ordered: lowest owner and file id.
type FilePlace = (i64, u64);

/// The ends of a span in one snapshot's table.
#[derive(Clone, Copy, Debug)]
pub(in crate::lake::scan) struct Ends {
    from: (FilePlace, u32),
    until: Option<(FilePlace, u32)>,
}

impl Ends {
    /// Finds the ends of a span in a table. The span is empty if the table lacks the file of one end. If the file of
    /// `from` is missing, the span begins after all rows. If the file of `until` is missing, the span ends before all
    /// rows.
    pub(in crate::lake::scan) fn of(span: &Span, table: Option<&TableSnapshot>) -> Ends {
        let place = |locator: Locator| {
            let file = table?.file(locator.file)?;
            Some((place_of(file), locator.row))
        };
        Ends {
            from: match span.from {
                None => ((i64::MIN, 0), 0),
                Some(locator) => place(locator).unwrap_or(((i64::MAX, u64::MAX), u32::MAX)),
            },
            until: span.until.map(|locator| place(locator).unwrap_or(((i64::MIN, 0), 0))),
        }
    }

    /// Whether a file may have rows of the span.
    pub(in crate::lake::scan) fn meets(&self, file: &DataFile) -> bool {
        let place = place_of(file);
        place >= self.from.0
            && self
                .until
                .is_none_or(|(until, row)| place < until || place == until && row > 0)
    }

    /// Returns the rows of a row group that belong to the span, as positions in the row group. `first` is the position
    /// of the row group's first row in the file.
    pub(in crate::lake::scan) fn within(&self, file: &DataFile, first: u32, rows: u32) -> Range<u32> {
        let place = place_of(file);
        let start = match place.cmp(&self.from.0) {
            std::cmp::Ordering::Less => rows,
            std::cmp::Ordering::Equal => self.from.1.saturating_sub(first).min(rows),
            std::cmp::Ordering::Greater => 0,
        };
        let end = match self.until {
            None => rows,
            Some((until, row)) => match place.cmp(&until) {
                std::cmp::Ordering::Less => rows,
                std::cmp::Ordering::Equal => row.saturating_sub(first).min(rows),
                std::cmp::Ordering::Greater => 0,
            },
        };
        start..end.max(start)
    }
}

/// Returns the key by which a snapshot orders a table's files.
fn place_of(file: &DataFile) -> FilePlace {
    (*file.owners.start(), file.id)
}
