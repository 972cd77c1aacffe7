//! Cells that cover several rows or columns (`rowspan`, `colspan`). Each text of a row goes to the column that it has
//! in the document.
//!
//! If a cell covers several rows, each of these rows repeats its text, so each row can be read alone. If a cell covers
//! several columns, its text is in the first one, and the others stay empty. Hostile spans are cheap: nothing is added
//! for rows and columns that do not exist, and the bytes of all added cells of a document are limited.

/// The maximum number of columns of a cell, as in HTML.
const MAX_COLUMNS: usize = 1_000;
/// The maximum number of rows of a cell, as in HTML.
const MAX_ROWS: usize = 65_534;
/// The maximum number of cells that cover rows below them at the same time.
const MAX_COVERS: usize = 64;
/// The maximum number of bytes of a text that is repeated in the rows below its cell. A longer text is not repeated.
const MAX_REPEATED: usize = 200;
/// The number of bytes that each added cell takes from the allowance, in addition to the bytes of its text.
const CELL: usize = 24;
/// The maximum number of bytes of all cells that spans add to a document's tables.
pub(super) const ALLOWANCE: usize = 1 << 20;

/// The number of rows and columns that a cell covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    rows: usize,
    columns: usize,
}

impl Span {
    /// A cell of one row and one column.
    pub(super) const ONE: Self = Self { rows: 1, columns: 1 };

    /// Reads the span in the attributes of a cell. A missing or invalid value counts as 1. A `rowspan` of 0 means all
    /// rows of the group.
    pub(super) fn new(rows: Option<&str>, columns: Option<&str>) -> Self {
        let number = |text: Option<&str>, max: usize| {
            let digits = text.map(str::trim).filter(|text| !text.is_empty())?;
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            // A number that does not fit into `usize` is above the maximum.
            is_number.then(|| digits.parse().map_or(max, |number: usize| number.min(max)))
        };
        let rows = match number(rows, MAX_ROWS) {
            Some(0) => MAX_ROWS,
            rows => rows.unwrap_or(1),
        };
        Self {
            rows,
            columns: number(columns, MAX_COLUMNS).unwrap_or(1).max(1),
        }
    }
}

/// A cell of a row above that also covers columns of the current row.
#[derive(Debug)]
struct Cover {
    start: usize,
    end: usize,
    /// The number of rows that the cell still covers, including the current row.
    rows: usize,
    text: String,
}

/// The rows of a table while they are read.
#[derive(Debug, Default)]
pub(super) struct Grid {
    covers: Vec<Cover>,
    row: Vec<String>,
    /// The column of the next cell.
    column: usize,
    has_cells: bool,
    is_cut: bool,
}

impl Grid {
    /// Adds a cell to the row. `room` is the remaining allowance for cells that spans add.
    pub(super) fn cell(&mut self, text: String, span: Span, room: &mut usize) {
        while let Some(place) = self.covers.iter().position(|cover| self.is_covered_by(cover)) {
            self.repeat(place, room);
        }
        let (start, end) = (self.column, self.column + span.columns);
        if span.rows > 1 && self.covers.len() < MAX_COVERS {
            self.covers.push(Cover {
                start,
                end,
                rows: span.rows,
                text: if text.len() <= MAX_REPEATED {
                    text.clone()
                } else {
                    String::new()
                },
            });
        } else if span.rows > 1 {
            self.is_cut = true;
        }
        self.put(text, room);
        self.column = end;
        self.has_cells = true;
    }

    /// Ends the row and returns its cells. The result is empty if the row has no cells of its own.
    pub(super) fn end_row(&mut self, room: &mut usize) -> Vec<String> {
        if self.has_cells {
            while let Some(place) = self.next_cover() {
                self.repeat(place, room);
            }
        }
        for cover in &mut self.covers {
            cover.rows -= 1;
        }
        self.covers.retain(|cover| cover.rows > 0);
        self.column = 0;
        self.has_cells = false;
        std::mem::take(&mut self.row)
    }

    /// Ends a group of rows. No cell covers rows of another group.
    pub(super) fn end_group(&mut self) {
        self.covers.clear();
    }

    /// Whether some cells are not in their columns, because the allowance was used up or too many cells covered further
    /// rows.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn is_covered_by(&self, cover: &Cover) -> bool {
        (cover.start..cover.end).contains(&self.column)
    }

    /// Returns the index of the first covering cell that begins at or after the current column and has a text.
    fn next_cover(&self) -> Option<usize> {
        let right = self.covers.iter().enumerate();
        let right = right.filter(|(_, cover)| cover.start >= self.column && !cover.text.is_empty());
        right.min_by_key(|(_, cover)| cover.start).map(|(place, _)| place)
    }

    /// Repeats the text of a covering cell in the current row.
    fn repeat(&mut self, place: usize, room: &mut usize) {
        let cover = &self.covers[place];
        let (start, end) = (cover.start, cover.end);
        let cost = CELL + cover.text.len();
        if cost <= *room {
            *room -= cost;
            let text = cover.text.clone();
            self.column = self.column.max(start);
            self.put(text, room);
        } else {
            self.is_cut = true;
        }
        self.column = end;
    }

    /// Puts a text into the current column. Columns before it without a cell become empty cells.
    fn put(&mut self, text: String, room: &mut usize) {
        let gap = self.column.saturating_sub(self.row.len());
        if gap * CELL <= *room {
            *room -= gap * CELL;
            self.row.resize(self.row.len() + gap, String::new());
        } else {
            self.is_cut = true;
        }
        self.row.push(text);
    }
}

/// The note below a table with cells that are not in their columns.
pub(super) const CUT: &str =
    "Cells of this table cover many rows or columns. Some of its values stand in other columns than in the original.";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows of a table. Each cell is given as its text, its rows and its columns.
    fn rows(table: &[&[(&str, &str, &str)]]) -> Vec<String> {
        let (mut grid, mut room) = (Grid::default(), ALLOWANCE);
        let rows = table.iter().map(|row| {
            for (text, rows, columns) in *row {
                grid.cell((*text).to_owned(), Span::new(Some(rows), Some(columns)), &mut room);
            }
            grid.end_row(&mut room).join("|")
        });
        rows.collect()
    }

    #[test]
    fn cells_below_and_right_of_wide_ones_keep_their_columns() {
        assert_eq!(
            rows(&[
                &[("a", "2", "1"), ("b", "1", "2"), ("c", "", "x")],
                &[("d", "1", "1"), ("e", "1", "1"), ("f", "1", "1")],
                &[("g", "1", "1"), ("h", "1", "1"), ("i", "3", "0"), ("j", "1", "1")],
                &[("k", "1", "3")],
                &[("l", "1", "2"), ("m", "1", "1")],
            ]),
            ["a|b||c", "a|d|e|f", "g|h|i|j", "k", "l||i|m"].map(str::to_owned)
        );
        // The last cell of the first row covers the two rows below it. One of these rows has no cells.
        assert_eq!(
            rows(&[
                &[("a", "1", "1"), ("b", "3", "1")],
                &[],
                &[("c", "1", "1")],
                &[("d", "1", "1")]
            ]),
            ["a|b", "", "c|b", "d"].map(str::to_owned)
        );
        // A `rowspan` of 0 means all rows of the group.
        assert_eq!(
            rows(&[&[("a", "0", "1")], &[("b", "1", "1")]]),
            ["a", "a|b"].map(str::to_owned)
        );
    }

    #[test]
    fn hostile_spans_add_little() {
        assert_eq!(Span::new(Some("1e9"), Some("-1")), Span::ONE);
        assert_eq!(
            Span::new(Some("99999999999999999999999"), Some("1000000000")),
            Span {
                rows: MAX_ROWS,
                columns: MAX_COLUMNS
            }
        );
        let (mut grid, mut room, mut bytes) = (Grid::default(), ALLOWANCE, 0);
        for row in 0..2_000 {
            for _ in 0..100 {
                grid.cell("x".repeat(150), Span::new(Some("60000"), Some("1000")), &mut room);
            }
            let row = (row, grid.end_row(&mut room));
            assert!(row.1.len() >= 100, "{}", row.0);
            bytes += row.1.iter().map(|cell| CELL + cell.len()).sum::<usize>();
        }
        assert!(grid.is_cut());
        assert!(bytes <= ALLOWANCE + 2_000 * 100 * (CELL + 150), "{bytes}");
    }
}
