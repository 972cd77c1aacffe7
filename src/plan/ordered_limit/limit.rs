//! Which rows of a table's order are taken: how many are skipped, how many follow, and from which end.

use std::fmt;

/// Which rows of a table's order are taken. By default all, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Hash)]
pub struct Limit {
    /// How many rows are skipped.
    pub skip: usize,
    /// How many rows are taken after the skipped ones. `None` for all.
    pub take: Option<usize>,
    /// Whether rows are counted and returned from the table's end.
    pub backwards: bool,
}

impl Limit {
    /// The maximum number of rows to find.
    pub(super) fn max_rows(&self) -> Option<usize> {
        self.take.map(|take| self.skip.saturating_add(take))
    }

    /// The maximum number of rows to find in a part of the table. `None` for backwards reading: it wants the last rows
    /// of a part, and these are known only at the end of the part.
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
