//! Limits the memory of one evaluation of a select tree: rows, bytes of text, and cells. A cell is one stored row
//! number. Each row has a cell for each part of the tree that has row numbers of its own. The limits are checked
//! before anything is allocated.

use std::cell::Cell;

use super::super::error::RunError;

/// The maximum number of rows that any part of a view may have.
const ROWS: usize = 1 << 20;
/// The maximum number of cells of all parts of a view together.
const CELLS: usize = 1 << 22;
/// The maximum number of bytes of text of all branches of a union together. This text is copied at once.
pub(in crate::views) const UNION_TEXT: usize = 1 << 27;
/// The maximum number of bytes of text of all rows of an evaluation together. This text is copied in portions.
pub(in crate::views) const TEXT: usize = 1 << 30;
/// The approximate number of bytes of text in one portion of the output.
pub(in crate::views) const PORTION_TEXT: usize = 1 << 24;

/// The limits of one evaluation: `rows` is the maximum of each part, and `cells` is the number of cells that may still
/// be taken.
#[derive(Debug)]
pub(in crate::views) struct Budget {
    rows: usize,
    cells: Cell<usize>,
}

impl Budget {
    pub(in crate::views) fn new() -> Budget {
        Budget::of(ROWS, CELLS)
    }

    pub(in crate::views) fn of(rows: usize, cells: usize) -> Budget {
        Budget {
            rows,
            cells: Cell::new(cells),
        }
    }

    /// Returns the maximum number of rows of any part.
    pub(in crate::views) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the maximum number of items in a column's values.
    pub(in crate::views) fn values(&self) -> usize {
        CELLS
    }

    /// Whether a part may have this many rows.
    pub(in crate::views) fn has_rows(&self, rows: usize) -> bool {
        rows <= self.rows
    }

    /// Takes the cells of `parts` parts, which have `rows` rows each. Fails if that exceeds a limit. Cells are never
    /// given back. So a row number that is copied at each level of a tree counts each time.
    pub(in crate::views) fn take(&self, rows: usize, parts: usize) -> Result<(), RunError> {
        let left = rows
            .checked_mul(parts)
            .and_then(|cells| self.cells.get().checked_sub(cells))
            .filter(|_| self.has_rows(rows))
            .ok_or(RunError::TooManyRows)?;
        self.cells.set(left);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_all_cells_together_are_bounded() {
        let budget = Budget::of(10, 25);
        assert!(budget.take(11, 1).is_err() && budget.take(usize::MAX, 2).is_err());
        assert!(budget.take(10, 2).is_ok() && budget.take(3, 2).is_err());
        assert!(budget.take(5, 1).is_ok() && budget.take(1, 1).is_err());
    }
}
