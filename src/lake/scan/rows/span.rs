//! A span: the part of a table between two of its rows. Rows are ordered by the table's files, then by their position
//! in the file.

use std::fmt;
use std::ops::Range;

use super::super::lookup::locator::Locator;
use crate::lake::snapshot::{DataFile, TableSnapshot};

/// A span of a table's rows in the table's order. The default is the whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first row in it.
    pub from: Option<Locator>,
    /// The first row after it.
    pub until: Option<Locator>,
}

impl Span {
    /// The rows after a row.
    pub fn after(place: Locator) -> Span {
        let next = Locator {
            row: place.row.saturating_add(1),
            ..place
        };
        Span::from(next)
    }

    /// A row and the rows after it.
    pub fn from(place: Locator) -> Span {
        Span {
            from: Some(place),
            until: None,
        }
    }

    /// The rows before a row.
    pub fn before(place: Locator) -> Span {
        Span {
            from: None,
            until: Some(place),
        }
    }
}

/// Shows which ends are rows, but not which rows: positions would reveal how many rows come before them.
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

/// The position of a file among its table's files.
type FilePlace = (i64, u64);

/// The ends of a span in one snapshot's table.
#[derive(Clone, Copy, Debug)]
pub(in crate::lake::scan) struct Ends {
    from: (FilePlace, u32),
    until: Option<(FilePlace, u32)>,
}

impl Ends {
    /// If the table lacks the file of a row, the span is empty. As a start, such a row counts as after all rows. As an
    /// end, it counts as before all rows.
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

    /// Whether rows of a file may belong to the span.
    pub(in crate::lake::scan) fn meets(&self, file: &DataFile) -> bool {
        let place = place_of(file);
        place >= self.from.0
            && self
                .until
                .is_none_or(|(until, row)| place < until || place == until && row > 0)
    }

    /// The rows of a row group that belong to the span, by position in the row group.
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

/// The order in which a snapshot lists a table's files.
fn place_of(file: &DataFile) -> FilePlace {
    (*file.owners.start(), file.id)
}
