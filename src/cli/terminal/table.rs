//! Formats rows as a table for people: aligned columns, numbers at the right, columns narrowed to fit the terminal.

use unicode_width::UnicodeWidthStr;

use super::columns::plain;
use super::manner::{HEADING, on_output};

/// The number of rows that decide the widths of columns. Longer cells of later rows are cut.
const MEASURED: usize = 1_000;
/// The space between two columns.
const GAP: &str = "  ";
/// The minimum width to which a column is narrowed to make the table fit.
const NARROWEST: usize = 6;

/// A table that is formatted row by row.
#[derive(Debug)]
pub(in crate::cli) struct Table {
    heading: Vec<String>,
    /// Rows that wait until the widths are decided.
    waiting: Vec<Vec<String>>,
    columns: Option<Vec<Column>>,
    /// The maximum width of a line. `None` means no limit.
    widest: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    width: usize,
    is_number: bool,
}

impl Table {
    /// Creates a table with these columns. `widest` is the maximum width of a line; `None` means no limit.
    pub(in crate::cli) fn new(heading: Vec<String>, widest: Option<usize>) -> Table {
        Table {
            heading,
            waiting: Vec::new(),
            columns: None,
            widest,
        }
    }

    /// Adds a row. Returns the lines that are ready to be printed.
    pub(in crate::cli) fn push(&mut self, row: Vec<String>) -> String {
        let row: Vec<String> = row.iter().map(|cell| plain(cell)).collect();
        if let Some(columns) = &self.columns {
            return line(&row, columns);
        }
        self.waiting.push(row);
        if self.waiting.len() >= MEASURED {
            self.begin()
        } else {
            String::new()
        }
    }

    /// Returns the remaining lines of the table.
    pub(in crate::cli) fn finish(&mut self) -> String {
        match self.columns {
            Some(_) => String::new(),
            None => self.begin(),
        }
    }

    /// Decides the widths of the columns. Returns the heading and the waiting rows.
    fn begin(&mut self) -> String {
        let columns = self.measured();
        let first = line(&self.heading, &columns);
        let mut text = on_output(HEADING, first.trim_end());
        text.push('\n');
        for row in self.waiting.drain(..) {
            text.push_str(&line(&row, &columns));
        }
        self.columns = Some(columns);
        text
    }

    fn measured(&self) -> Vec<Column> {
        let cells = |at: usize| self.waiting.iter().filter_map(move |row| row.get(at));
        let mut columns: Vec<Column> = (0..self.heading.len())
            .map(|at| Column {
                width: cells(at)
                    .map(|cell| cell.width())
                    .max()
                    .unwrap_or(0)
                    .max(self.heading[at].width()),
                is_number: is_numbers(cells(at)),
            })
            .collect();
        let Some(widest) = self.widest else {
            return columns;
        };
        let room = widest.saturating_sub(GAP.len() * columns.len().saturating_sub(1));
        // Narrow the widest column by one, until the line fits or no column is wider than `NARROWEST`.
        while columns.iter().map(|column| column.width).sum::<usize>() > room {
            match columns.iter_mut().max_by_key(|column| column.width) {
                Some(column) if column.width > NARROWEST => column.width -= 1,
                _ => break,
            }
        }
        columns
    }
}

/// Whether there are cells with text, and all of them are numbers, with or without `%`.
fn is_numbers<'c>(cells: impl Iterator<Item = &'c String>) -> bool {
    let mut filled = cells.filter(|cell| !cell.is_empty()).peekable();
    filled.peek().is_some() && filled.all(|cell| cell.trim_end_matches('%').parse::<f64>().is_ok_and(f64::is_finite))
}

fn line(row: &[String], columns: &[Column]) -> String {
    let mut text = String::new();
    for (at, column) in columns.iter().enumerate() {
        let cell = cut(row.get(at).map_or("", String::as_str), column.width);
        let gap = " ".repeat(column.width.saturating_sub(cell.width()));
        if at > 0 {
            text.push_str(GAP);
        }
        if column.is_number {
            text.push_str(&(gap + &cell))
        } else {
            text.push_str(&(cell + &gap))
        }
    }
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    text
}

/// Cuts a text to `width`, with `…` at its end if something is left out.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = String::new();
    for letter in text.chars() {
        taken.push(letter);
        if taken.width() >= width {
            taken.pop();
            break;
        }
    }
    taken.push('…');
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[[&str; 3]], widest: Option<usize>) -> String {
        let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let mut table = Table::new(owned(&["id", "name", "n"]), widest);
        let mut text: String = rows.iter().map(|row| table.push(owned(row))).collect();
        text.push_str(&table.finish());
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn columns_line_up_and_numbers_stand_at_the_right() {
        let rows = [
            ["a", "Ångström 東京", "5"],
            ["bb", "x\u{1b}[31m\ny", "12.50"],
            ["", "", ""],
        ];
        let text = drawn(&rows, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "id  name               n",
                "a   Ångström 東京      5",
                "bb  x\u{fffd}[31m\u{fffd}y       12.50",
                "",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "word ".repeat(40);
        let text = drawn(
            &[["1", &long, &long], ["2", "short", "東京".repeat(30).as_str()]],
            Some(60),
        );
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        assert_eq!(text.matches('…').count(), 3, "{text}");
    }

    #[test]
    fn later_rows_are_cut_to_the_widths_of_the_first() {
        let mut table = Table::new(vec!["a".to_owned()], None);
        let first: String = (0..MEASURED).map(|_| table.push(vec!["xy".to_owned()])).collect();
        assert_eq!(
            anstream::adapter::strip_str(&first).to_string().lines().count(),
            MEASURED + 1
        );
        assert_eq!(table.push(vec!["xyz".to_owned()]), "x…\n");
        assert_eq!(table.finish(), "");
    }
}
