//! Tables: columns have fixed widths, rows break between lines at the end of a page, and each page repeats the head.

use super::document::Document;
use super::font::Face;
use super::line::{Line, Style, piece};
use super::page::{HEIGHT, LEFT, Role, WIDTH};
use super::structure::Kind;

const PADDING: f32 = 4.0;
/// The maximum number of rows that decide the widths of columns. Later rows do not count.
pub(crate) const SAMPLE: usize = 200;
/// The maximum width, in points, of a word that widens a column. A longer word, such as an address, is broken between
/// lines.
const LONGEST_WORD: f32 = 90.0;
/// The width of the bold face relative to the regular one.
const BOLD: f32 = 1.13;

const HEADER: Style = Style {
    size: 8.5,
    face: Face::Bold,
    grey: 0,
};
const CELL: Style = Style {
    size: 8.5,
    face: Face::Regular,
    grey: 0,
};

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// The title in the table's head.
    pub title: String,
    /// The share of the table's width, in proportion to the shares of the other columns.
    pub share: f32,
}

impl Column {
    /// Creates a column with a title and a share.
    pub fn new(title: impl Into<String>, share: f32) -> Self {
        Self {
            title: title.into(),
            share,
        }
    }

    /// Creates columns with these titles. The average length of the texts in a column decides its width, within limits.
    pub fn fitting<T: AsRef<str>>(titles: &[T], rows: &[Vec<String>]) -> Vec<Self> {
        let share = |place: usize, title: &str| {
            let length = |cell: &str| cell.chars().count().min(80);
            let cells = rows.iter().take(SAMPLE);
            let all: usize = cells.map(|row| row.get(place).map_or(0, |cell| length(cell))).sum();
            let count = rows.len().min(SAMPLE) + 1;
            ((all + length(title)) as f32 / count as f32).clamp(6.0, 40.0)
        };
        let titles = titles.iter().map(AsRef::as_ref).enumerate();
        let columns = titles.map(|(place, title)| Self::new(title, share(place, title)));
        Self::with_whole_words(columns.collect(), rows)
    }

    /// Widens columns that are too narrow for their longest words, and makes wide columns narrower. If the wide columns
    /// have too little width to spare, all columns stay as they are. Words that do not fit, and very long words, are
    /// broken between lines.
    pub fn with_whole_words(mut columns: Vec<Self>, rows: &[Vec<String>]) -> Vec<Self> {
        let min_width = |place: usize, column: &Column| {
            let cells = rows.iter().take(SAMPLE).filter_map(|row| row.get(place));
            let words = cells.flat_map(|cell| unbroken(cell)).map(|word| width(word, 1.0));
            let titles = unbroken(&column.title).map(|word| width(word, BOLD));
            let fit = words.chain(titles).filter(|width| *width <= LONGEST_WORD);
            fit.fold(0.0, f32::max) + 2.0 * PADDING
        };
        let min_width: Vec<f32> = columns
            .iter()
            .enumerate()
            .map(|(place, one)| min_width(place, one))
            .collect();
        let widths = widths(&columns);
        let beyond = |(width, min_width): (&f32, &f32)| (width - min_width).max(0.0);
        let missing: f32 = min_width.iter().zip(&widths).map(beyond).sum();
        let spare: f32 = widths.iter().zip(&min_width).map(beyond).sum();
        if missing > 0.0 && missing <= spare {
            for ((column, width), min_width) in columns.iter_mut().zip(&widths).zip(&min_width) {
                column.share = (*min_width).max(width - beyond((width, min_width)) * missing / spare);
            }
        }
        columns
    }
}

/// A table while it is written. Dropping the value ends the table.
pub struct Table<'a> {
    document: &'a mut Document,
    /// The description of the table. `None` as soon as the table has begun on a page.
    summary: Option<String>,
    titles: Vec<String>,
    widths: Vec<f32>,
    /// Whether the first cell of a row names the row.
    named_rows: bool,
}

/// The cells of a row: the lines of each cell, and its structure group.
struct Cells {
    lines: Vec<std::vec::IntoIter<Line>>,
    groups: Vec<Option<usize>>,
}

impl Document {
    /// Begins a table. `summary` describes it to screen readers.
    pub fn table(&mut self, summary: &str, columns: &[Column]) -> Table<'_> {
        Table::begin(self, summary, columns)
    }

    /// Begins a table of names and values, without a head.
    pub fn fields(&mut self, summary: &str) -> Table<'_> {
        Table::begin_fields(self, summary)
    }
}

impl<'a> Table<'a> {
    /// Begins a table with a head.
    fn begin(document: &'a mut Document, summary: &str, columns: &[Column]) -> Self {
        Self {
            document,
            summary: Some(summary.to_owned()),
            titles: columns.iter().map(|column| column.title.clone()).collect(),
            widths: widths(columns),
            named_rows: false,
        }
    }

    /// Begins a table of two columns without a head: names and values.
    fn begin_fields(document: &'a mut Document, summary: &str) -> Self {
        let columns = [Column::new("", 3.0), Column::new("", 9.0)];
        Self {
            document,
            summary: Some(summary.to_owned()),
            titles: Vec::new(),
            widths: widths(&columns),
            named_rows: true,
        }
    }

    /// Begins the table with its head, if the table has not begun yet. The head is on one page with the headings above
    /// it and with `needed` points of the first row.
    fn open(&mut self, needed: f32) {
        let Some(summary) = self.summary.take() else { return };
        let head = self.head();
        let own = if head.is_empty() { 0.0 } else { height_of(&head) };
        let document = &mut *self.document;
        let follows_heading = document.settle(4.0 + own + needed);
        // If headings waited, `settle` has begun a new page if necessary. Below very long headings, the head and
        // `needed` may not fit even on that page. Then room for the beginning of a row is enough.
        let below = if follows_heading {
            needed.min(4.0 * CELL.size)
        } else {
            needed
        };
        if document.pages.left() < (4.0 + own + below).min(HEIGHT) {
            document.page_break();
        }
        document.structure.open(Kind::Table(summary));
        document.pages.space(4.0);
        if !head.is_empty() {
            self.document.structure.open(Kind::TableHead);
            self.place_row(head, Some(Kind::ColumnHeader));
            self.document.structure.close();
        }
        self.document.structure.open(Kind::TableBody);
    }

    /// Whether the work should stop.
    pub fn is_stopped(&self) -> bool {
        self.document.is_stopped()
    }

    /// Writes a row. Missing cells are empty. If there are more cells than columns, the texts of the further cells are
    /// appended to the last column. A very long cell continues in further rows.
    pub fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let last = self.widths.len().saturating_sub(1);
        let joined: String;
        let mut texts: Vec<&str> = (0..self.widths.len())
            .map(|place| cells.get(place).map_or("", AsRef::as_ref))
            .collect();
        if cells.len() > self.widths.len() {
            let rest: Vec<&str> = cells[last..].iter().map(AsRef::as_ref).collect();
            joined = rest.join(" ");
            texts[last] = &joined;
        }
        loop {
            let mut lines = Vec::with_capacity(texts.len());
            for (place, text) in texts.iter_mut().enumerate() {
                let style = if self.named_rows && place == 0 { HEADER } else { CELL };
                let (first, rest) = piece(text);
                lines.push(
                    self.document
                        .setter
                        .lines(first, style, self.widths[place] - 2.0 * PADDING),
                );
                *text = rest;
            }
            self.open(least_of(&lines));
            self.place_row(lines, None);
            if texts.iter().all(|text| text.is_empty()) || self.is_stopped() {
                return;
            }
        }
    }

    fn head(&mut self) -> Vec<Vec<Line>> {
        let titles = self.titles.iter().zip(&self.widths);
        let setter = &mut self.document.setter;
        titles
            .map(|(title, width)| setter.lines(title, HEADER, width - 2.0 * PADDING))
            .collect()
    }

    /// Draws a row. If it does not fit, the rest goes to the next pages.
    fn place_row(&mut self, lines: Vec<Vec<Line>>, kind: Option<Kind>) {
        if self.document.pages.left() < least_of(&lines) {
            self.next_page();
        }
        let is_head = kind.is_some();
        self.document.structure.open(Kind::Row);
        let groups = (0..lines.len())
            .map(|place| self.cell_group(kind.clone(), place))
            .collect();
        let mut cells = Cells {
            lines: lines.into_iter().map(Vec::into_iter).collect(),
            groups,
        };
        while !self.place_part(&mut cells, is_head) {
            self.next_page();
        }
        self.document.structure.close();
    }

    fn cell_group(&mut self, kind: Option<Kind>, place: usize) -> Option<usize> {
        let kind = kind.unwrap_or(if self.named_rows && place == 0 {
            Kind::RowHeader
        } else {
            Kind::Cell
        });
        self.document.structure.open(kind);
        let group = self.document.structure.innermost();
        self.document.structure.close();
        group
    }

    /// Draws as many lines of each cell as fit on the page. Returns whether all lines fit.
    fn place_part(&mut self, cells: &mut Cells, is_head: bool) -> bool {
        let top = self.document.pages.y();
        let room = self.document.pages.left() - 2.0 * PADDING;
        let mut tallest: f32 = 0.0;
        let mut placed: Vec<(f32, f32, Line, Option<usize>)> = Vec::new();
        let mut x = LEFT;
        for (place, width) in self.widths.iter().enumerate() {
            let mut used = 0.0;
            while let Some(line) = cells.lines[place].as_slice().first() {
                if used + line.height > room && (used > 0.0 || top > HEIGHT / 2.0) {
                    break;
                }
                let Some(line) = cells.lines[place].next() else { break };
                let height = line.height;
                placed.push((x + PADDING, top + PADDING + used, line, cells.groups[place]));
                used += height;
            }
            tallest = tallest.max(used);
            x += width;
        }
        let height = tallest + 2.0 * PADDING;
        let document = &mut *self.document;
        if is_head {
            document.pages.shade(LEFT, top, WIDTH, height);
        }
        for (x, y, line, group) in placed {
            let role = match group {
                Some(group) => Role::Content(document.structure.piece_of(group)),
                None => Role::Repeated,
            };
            document.pages.line_at(x, y, line, role);
        }
        document.pages.rule(LEFT, top + height, WIDTH);
        document.pages.advance(height);
        cells.lines.iter().all(|lines| lines.as_slice().is_empty())
    }

    /// Begins a page and repeats the table's head on it.
    fn next_page(&mut self) {
        self.document.turn();
        if self.titles.is_empty() {
            return;
        }
        let head = self.head();
        // A head of more than a third of a page is not repeated, because a row might not fit below it on any page.
        if height_of(&head) > HEIGHT / 3.0 {
            return;
        }
        let count = head.len();
        let mut cells = Cells {
            lines: head.into_iter().map(Vec::into_iter).collect(),
            groups: vec![None; count],
        };
        self.place_part(&mut cells, true);
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        self.open(0.0);
        // Closes the body, then the table.
        self.document.structure.close();
        self.document.structure.close();
        self.document.pages.advance(6.0);
    }
}

fn widths(columns: &[Column]) -> Vec<f32> {
    let share = |column: &Column| if column.share > 0.0 { column.share } else { 1.0 };
    let all: f32 = columns.iter().map(share).sum();
    columns.iter().map(|column| WIDTH * share(column) / all).collect()
}

fn height_of(cells: &[Vec<Line>]) -> f32 {
    let tallest = cells
        .iter()
        .map(|lines| lines.iter().map(|line| line.height).sum())
        .fold(0.0, f32::max);
    tallest + 2.0 * PADDING
}

/// Returns the height that must be free on a page so that a row may begin there. A row of up to a third of a page stays
/// on one page. A higher row may be broken, so it needs room only for its beginning.
fn least_of(cells: &[Vec<Line>]) -> f32 {
    let height = height_of(cells);
    if height <= HEIGHT / 3.0 {
        height
    } else {
        4.0 * CELL.size
    }
}

/// Splits a text into the parts that are not broken between lines: its words, and the parts of a word between hyphens
/// and slashes. A number or a date is one part.
fn unbroken(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().flat_map(|word| {
        let has_digits = word.contains(|letter: char| letter.is_ascii_digit());
        word.split(move |letter| !has_digits && matches!(letter, '-' | '/'))
    })
}

/// Returns the estimated width of a word in a cell, in points. The estimate is rather too large than too small. `face`
/// is the width of the face relative to the regular face.
fn width(word: &str, face: f32) -> f32 {
    let of_letter = |letter: char| match letter {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '(' | ')' | '/' | '\'' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
        letter if letter.is_uppercase() => 0.76,
        _ => 0.64,
    };
    // A hyphen after the word stays on the same line, so some width is added for it.
    let ems: f32 = word.chars().map(of_letter).sum::<f32>() + 0.2;
    ems * CELL.size * face
}

#[cfg(test)]
mod tests {
    use super::super::line::Setter;
    use super::*;

    fn columns(titles: &[(&str, f32)]) -> Vec<Column> {
        titles
            .iter()
            .map(|(title, share)| Column::new(*title, *share))
            .collect()
    }

    /// Regression: "completed" was broken into "complete" and "d".
    #[test]
    fn narrow_columns_get_room_for_whole_words() {
        let given = columns(&[("Date", 3.0), ("Procedure", 6.0), ("Reason", 8.0), ("Status", 1.0)]);
        let rows = [["2020-01-02", "Suture of an open wound", "", "completed"]
            .map(str::to_owned)
            .to_vec()];
        let wide = Column::with_whole_words(given.clone(), &rows);
        let (before, after) = (widths(&given), widths(&wide));
        let mut setter = Setter::new().unwrap();
        for (place, text) in ["2020-01-02", "procedure", "reason", "completed"].iter().enumerate() {
            let lines = setter.lines(text, CELL, after[place] - 2.0 * PADDING);
            assert_eq!(lines.len(), 1, "{text}");
        }
        let title = setter.lines("Procedure", HEADER, after[1] - 2.0 * PADDING);
        assert_eq!(title.len(), 1);
        assert!(after[3] > before[3] && after[2] < before[2], "{before:?} {after:?}");
        assert!((after.iter().sum::<f32>() - WIDTH).abs() < 0.1, "{after:?}");
    }

    #[test]
    fn columns_without_spare_room_and_long_words_change_nothing() {
        let given = columns(&[("A", 1.0), ("B", 2.0)]);
        let shares = |columns: &[Column]| columns.iter().map(|column| column.share).collect::<Vec<_>>();
        for rows in [vec![], vec![vec!["x".repeat(200), String::new()]]] {
            assert_eq!(shares(&Column::with_whole_words(given.clone(), &rows)), shares(&given));
        }
        let many = columns(&[("responsible", 1.0); 12]);
        assert_eq!(shares(&Column::with_whole_words(many.clone(), &[])), shares(&many));
    }
}
