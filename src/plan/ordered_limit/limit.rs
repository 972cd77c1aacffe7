//! A limit on rows in the table's own order: how many rows are skipped, how many are taken, and from which end.

use std::fmt;

/// A limit on rows in the table's own order. By default it takes all rows, from the table's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Hash)]
pub struct Limit {
    /// The number of skipped rows.
    pub skip: usize,
    /// The number of rows that are taken after the skipped ones. `None` for all rows.
    pub take: Option<usize>,
    /// Whether rows are counted from the table's end and returned in reverse order.
    pub backwards: bool,
}

impl Limit {
    /// Returns the maximum number of rows to read, including the skipped ones. `None` if all rows are taken.
    pub(super) fn max_rows(&self) -> Option<usize> {
        self.take.map(|take| self.skip.saturating_add(take))
    }

    /// Returns the maximum number of rows to read from one partition. `None` if all rows are taken. Also `None` for a
    /// backwards limit, because it needs the last rows of a partition, and only the partition's end shows which ones
    /// these are.
    pub fn of_part(&self) -> Option<usize> {
        self.max_rows().filter(|_| !self.backwards)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.skip > 0 {
            write!(f, "skip={}, ", self.skip)?;
        }
        match self.take {
            Some(take) => write!(f, "take={take}")?,
            None => f.write_str("take=all")?,
        }
        if self.backwards {
            f.write_str(", backwards")
        } else {
            Ok(())
        }
    }
}
