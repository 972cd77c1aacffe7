//! Tables: columns have fixed widths, rows break between lines at the end of a page, and each page repeats the head.

use super::document::Document;
use super::font::Face;
use super::line::{Line, Style, piece};
use super::page::{HEIGHT, LEFT, Role, WIDTH};
use super::structure::Kind;

const PADDING: f32 = 4.0;

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
    /// Its share of the table's width, in proportion to the other columns' shares.
    pub share: f32,
}

impl Column {
    /// A column with a title and a share.
    pub fn new(title: impl Into<String>, share: f32) -> Self {
        Self {
            title: title.into(),
            share,
        }
    }

    /// Columns with these titles. Their widths follow the lengths of the texts, within limits.
    pub fn fitting<T: AsRef<str>>(titles: &[T], rows: &[Vec<String>]) -> Vec<Self> {
        let share = |place: usize, title: &str| {
            let length = |cell: &str| cell.chars().count().min(80);
            let cells = rows.iter().take(200);
            let all: usize = cells.map(|row| row.get(place).map_or(0, |cell| length(cell))).sum();
            let count = rows.len().min(200) + 1;
            ((all + length(title)) as f32 / count as f32).clamp(6.0, 40.0)
        };
        let titles = titles.iter().map(AsRef::as_ref).enumerate();
        titles
            .map(|(place, title)| Self::new(title, share(place, title)))
            .collect()
    }
}

/// A table while it is written. Dropping it ends the table.
pub struct Table<'a> {
    document: &'a mut Document,
    titles: Vec<String>,
    widths: Vec<f32>,
    /// Whether the first cell of a row names the row.
    named_rows: bool,
}

/// The cells of a row as lines, and the structure group of each.
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
        let mut table = Self {
            document,
            titles: columns.iter().map(|column| column.title.clone()).collect(),
            widths: widths(columns),
            named_rows: false,
        };
        table.document.structure.open(Kind::Table(summary.to_owned()));
        table.document.pages.space(4.0);
        let head = table.head();
        // A head is not left at the end of a page without a row below it.
        if table.document.pages.left() < height_of(&head) + 3.0 * CELL.size {
            table.document.turn();
        }
        table.document.structure.open(Kind::TableHead);
        table.place_row(head, Some(Kind::ColumnHeader));
        table.document.structure.close();
        table.document.structure.open(Kind::TableBody);
        table
    }

    /// Begins a table of two columns without a head: names and values.
    fn begin_fields(document: &'a mut Document, summary: &str) -> Self {
        let columns = [Column::new("", 3.0), Column::new("", 9.0)];
        let table = Self {
            document,
            titles: Vec::new(),
            widths: widths(&columns),
            named_rows: true,
        };
        table.document.structure.open(Kind::Table(summary.to_owned()));
        table.document.pages.space(4.0);
        table.document.structure.open(Kind::TableBody);
        table
    }

    /// Whether the work should stop.
    pub fn is_stopped(&self) -> bool {
        self.document.is_stopped()
    }

    /// Writes a row. Missing cells are empty. Cells beyond the last column are appended to it. Very long cells continue
    /// in further rows.
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
        let height = height_of(&lines);
        let keeps_together = height <= HEIGHT / 3.0;
        if self.document.pages.left() < height && (keeps_together || self.document.pages.left() < 4.0 * CELL.size) {
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

    /// Begins a page with the head of the table.
    fn next_page(&mut self) {
        self.document.turn();
        if self.titles.is_empty() {
            return;
        }
        let head = self.head();
        // If the head fills a page, no row would ever fit below it, so it is not repeated.
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
