//! The narrative of a C-CDA section (`StrucDoc.Text`): paragraphs, lists, tables, and text with line breaks.

use quick_xml::events::BytesStart;

use super::attribute::attribute;
use super::block::{Blocks, push_collapsed};
use super::span::{CUT, Grid, Span};

/// A narrative while it is read.
pub(super) struct Narrative {
    /// The depth of the narrative's `text` element.
    depth: usize,
    open: Vec<String>,
    text: String,
    blocks: Blocks,
    lists: usize,
    tables: Vec<Table>,
    /// The remaining bytes for cells that a `rowspan` or `colspan` adds.
    room: usize,
}

#[derive(Default)]
struct Table {
    in_head: bool,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    grid: Grid,
    /// The span of the open cell. `None` if no cell is open.
    span: Option<Span>,
    /// The text so far of the cell that contains this table. Empty if the table is in no cell.
    around: String,
    /// Whether the current row has a data cell. If the first row of a table has none, it is the head of the table.
    has_data: bool,
}

impl Narrative {
    /// Begins the narrative of a `text` element at a depth. `room` is the maximum number of bytes for cells that a
    /// `rowspan` or `colspan` adds.
    pub(super) fn new(depth: usize, room: usize) -> Self {
        Self {
            depth,
            open: Vec::new(),
            text: String::new(),
            blocks: Blocks::default(),
            lists: 0,
            tables: Vec::new(),
            room,
        }
    }

    pub(super) fn start(&mut self, start: &BytesStart<'_>) {
        let name = start.local_name().as_ref().to_owned();
        match name.as_str() {
            "br" => self.text.push('\n'),
            "paragraph" | "caption" => self.flush(),
            "list" => {
                self.flush();
                self.lists += 1;
            }
            "item" => self.flush(),
            "table" => {
                self.flush();
                let around = std::mem::take(&mut self.text);
                self.tables.push(Table {
                    around,
                    ..Table::default()
                });
            }
            "td" | "th" => {
                let (rows, columns) = (attribute(start, "rowspan"), attribute(start, "colspan"));
                if let Some(table) = self.tables.last_mut() {
                    table.span = Some(Span::new(rows.as_deref(), columns.as_deref()));
                }
            }
            "renderMultiMedia" => {
                if let Some(object) = attribute(start, "referencedObject") {
                    push_collapsed(&mut self.text, &format!("[picture {object}]"));
                }
            }
            "thead" => {
                if let Some(table) = self.tables.last_mut() {
                    table.in_head = true;
                }
            }
            _ => {}
        }
        self.open.push(name);
    }

    /// Ends the element at this depth. Returns whether it was the narrative's `text` element.
    pub(super) fn end(&mut self, depth: usize) -> bool {
        if depth == self.depth {
            return true;
        }
        let Some(name) = self.open.pop() else { return false };
        match name.as_str() {
            "paragraph" | "caption" | "item" => self.flush(),
            "list" => {
                self.flush();
                self.lists = self.lists.saturating_sub(1);
            }
            "td" => self.cell(true),
            "th" => self.cell(false),
            "tr" => self.row(),
            "thead" | "tbody" | "tfoot" => {
                if let Some(table) = self.tables.last_mut() {
                    table.in_head = false;
                    table.grid.end_group();
                }
            }
            "table" => self.table(),
            _ => {}
        }
        false
    }

    pub(super) fn characters(&mut self, text: &str) {
        push_collapsed(&mut self.text, text);
    }

    /// Appends the narrative's blocks to `blocks`. Returns what remains of `room`.
    pub(super) fn finish(mut self, blocks: &mut Blocks) -> usize {
        while !self.tables.is_empty() {
            self.table();
        }
        self.flush();
        blocks.append(self.blocks);
        self.room
    }

    fn flush(&mut self) {
        if !self.tables.is_empty() {
            // A block inside a cell becomes a line of the cell.
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            return;
        }
        let text = std::mem::take(&mut self.text);
        if self.lists > 0 {
            self.blocks.item(&text);
        } else {
            self.blocks.paragraph(&text);
        }
    }

    fn cell(&mut self, is_data: bool) {
        if self.tables.is_empty() {
            return self.flush();
        }
        let text = std::mem::take(&mut self.text);
        if let Some(table) = self.tables.last_mut() {
            table.has_data |= is_data;
            let span = table.span.take().unwrap_or(Span::ONE);
            table.grid.cell(text.trim().to_owned(), span, &mut self.room);
        }
    }

    fn row(&mut self) {
        // Text between rows, or after the last cell of a row, belongs to no cell. It gets a cell of its own.
        if !self.text.trim().is_empty() {
            self.cell(true);
        }
        let Some(table) = self.tables.last_mut() else { return };
        let row = table.grid.end_row(&mut self.room);
        let is_head = table.in_head || !table.has_data;
        table.has_data = false;
        if row.is_empty() {
            return;
        }
        if is_head && table.head.is_empty() && table.rows.is_empty() {
            table.head = row;
        } else {
            table.rows.push(row);
        }
    }

    fn table(&mut self) {
        self.row();
        let Some(table) = self.tables.pop() else { return };
        let is_cut = table.grid.is_cut();
        if self.tables.is_empty() {
            self.blocks.table(table.head, table.rows);
            if is_cut {
                self.blocks.note(CUT);
            }
            return;
        }
        // A table inside a cell becomes lines of the cell.
        self.text = table.around;
        for row in std::iter::once(table.head)
            .chain(table.rows)
            .filter(|row| !row.is_empty())
        {
            self.text.push_str(&row.join("\t"));
            self.text.push('\n');
        }
        if is_cut {
            self.text.push_str(CUT);
            self.text.push('\n');
        }
    }
}
