//! Which rows of a table's order are taken: how many are left out, how many follow, from which end.

use std::fmt;

/// Which rows of a table's order are taken. By default all, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Hash)]
pub struct Limit {
    /// Rows to leave out.
    pub skip: usize,
    /// Rows to take after them. `None` for all.
    pub take: Option<usize>,
    /// Whether rows are counted, and come, from the table's end.
    pub backwards: bool,
}

impl Limit {
    /// How many rows are looked for at most.
    pub(super) fn max_rows(&self) -> Option<usize> {
        self.take.map(|take| self.skip.saturating_add(take))
    }

    /// How many rows of a part of the table are looked for at most. Backwards, the last rows of a part are wanted, and
    /// only its end tells which they are.
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
        match self.backwards {
            true => f.write_str(", backwards"),
            false => Ok(()),
        }
    }
}
