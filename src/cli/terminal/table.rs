//! Formats rows as a table for people: aligned columns, numbers at the right, columns narrowed to fit the terminal.

use unicode_width::UnicodeWidthStr;

use super::columns::{grouped, plain};
use super::manner::{HEADING, on_output};

/// The number of rows that decide the widths of columns. Longer cells of later rows are cut.
const MEASURED: usize = 1_000;
/// The space between two columns.
const GAP: &str = "  ";
/// The minimum width to which a column is narrowed to make the table fit.
const NARROWEST: usize = 6;
/// A column with fewer characters than this is hard to read.
const READABLE: usize = 12;
/// The heading of ids. They are narrowed last, because nothing is found by a part of an id.
const ID: &str = "id";

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
        let mut excess = columns
            .iter()
            .map(|column| column.width)
            .sum::<usize>()
            .saturating_sub(room);
        for with_ids in [false, true] {
            // Narrow the widest column by one, until the line fits or no column is wider than `NARROWEST`.
            while excess > 0 {
                let columns = columns.iter_mut().zip(&self.heading);
                let narrowed = columns.filter(|(_, heading)| with_ids || *heading != ID);
                match narrowed.map(|(column, _)| column).max_by_key(|column| column.width) {
                    Some(column) if column.width > NARROWEST => column.width -= 1,
                    _ => break,
                }
                excess -= 1;
            }
        }
        columns
    }
}

/// Returns how many of the first columns fit into a line of `widest` characters, and at least 1. An id needs its whole
/// width, and another column needs at most `READABLE` characters.
pub(in crate::cli) fn fitting(heading: &[String], rows: &[Vec<String>], widest: usize) -> usize {
    let needed = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
        let width = cells.max().unwrap_or(0).max(heading[at].width());
        if heading[at] == ID { width } else { width.min(READABLE) }
    };
    let ends = (0..heading.len()).scan(0, |end, at| {
        *end += needed(at) + if at > 0 { GAP.len() } else { 0 };
        Some(*end)
    });
    ends.take_while(|end| *end <= widest).count().max(1)
}

/// Whether there are cells with text, and all of them are numbers, with or without `%` or `+` at the end.
fn is_numbers<'c>(cells: impl Iterator<Item = &'c String>) -> bool {
    let mut filled = cells.filter(|cell| !cell.is_empty()).peekable();
    filled.peek().is_some() && filled.all(|cell| is_number(cell.trim_end_matches(['%', '+'])))
}

/// Whether the text is a number. A whole number may have commas between the thousands.
fn is_number(text: &str) -> bool {
    let whole = || {
        text.replace(',', "")
            .parse::<u64>()
            .is_ok_and(|number| grouped(number) == text)
    };
    text.parse::<f64>().is_ok_and(f64::is_finite) || whole()
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
    fn ids_are_narrowed_last() {
        let id = "01588869-6f4f-4b8e-a1a5-0b6f3c4d5e6f";
        let reference = format!("Patient/{id}");
        let long = "word ".repeat(10);
        assert!(drawn(&[[id, &reference, &long]], Some(60)).contains(id));
        let narrow = drawn(&[[id, &reference, &long]], Some(40));
        assert!(narrow.lines().all(|line| line.width() <= 40), "{narrow}");
    }

    #[test]
    fn columns_are_left_out_before_ids_are_cut() {
        let owned = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let heading = owned(["id", "status", "subject", "note"]);
        let rows = [owned(["0123456789", "final", "Patient/0123456789", "seated"])];
        for (widest, count) in [(5, 1), (18, 2), (31, 2), (32, 3), (39, 3), (40, 4)] {
            assert_eq!(fitting(&heading, &rows, widest), count, "{widest}");
        }
        assert_eq!(fitting(&heading, &[], 100), 4);
    }

    #[test]
    fn grouped_numbers_are_numbers() {
        for (text, expected) in [
            ("3,920", true),
            ("5", true),
            ("1.5", true),
            ("1,2", false),
            ("a", false),
        ] {
            assert_eq!(is_number(text), expected, "{text}");
        }
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
