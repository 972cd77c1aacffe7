//! Converts HTML to blocks: block elements become lines, list items get bullets, and tabs separate the cells of a table
//! row. Each cell keeps its column, even if cells before it are empty. A row with only one cell serves the layout, so
//! the lines of its text stay separate lines. The tokens of html5ever are read one by one, without a tree, so deep
//! nesting needs no memory.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::block::{Block, Blocks, push_collapsed};
use super::span::{ALLOWANCE, CUT, Grid, Span};

/// The maximum depth of nested tables. A deeper table is read as blocks of the cell around it.
const MAX_TABLES: usize = 64;

/// Converts an HTML document or fragment.
pub(super) fn read(text: &str) -> Vec<Block> {
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    // A tendril has room for almost 4 GiB. Attachments are far smaller, so the text fits.
    input.push_back(StrTendril::from_slice(text));
    while !input.is_empty() {
        // The tokenizer returns after each script. The loop then continues.
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    tokenizer.sink.0.into_inner().finish()
}

#[derive(Default)]
struct Sink(RefCell<State>);

impl Default for State {
    fn default() -> Self {
        Self {
            blocks: Blocks::default(),
            text: String::new(),
            heading: None,
            lists: Vec::new(),
            tables: Vec::new(),
            deeper: 0,
            room: ALLOWANCE,
            verbatim: 0,
            hidden: None,
        }
    }
}

/// A table while it is read.
#[derive(Default)]
struct Table {
    grid: Grid,
    in_row: bool,
    /// The span of the open cell. `None` if no cell is open.
    cell: Option<Span>,
    /// The text so far of the cell that contains this table. Empty if the table is in no cell.
    around: String,
}

struct State {
    blocks: Blocks,
    /// The text of the open block.
    text: String,
    /// The level of the open heading, if one is open.
    heading: Option<u8>,
    /// For each open list, whether an item is open. The end tag of an item may be missing.
    lists: Vec<bool>,
    /// The open tables.
    tables: Vec<Table>,
    /// The number of open tables that are nested more deeply than [`MAX_TABLES`].
    deeper: usize,
    /// The remaining bytes for cells that a `rowspan` or `colspan` adds.
    room: usize,
    /// The number of open `pre` elements.
    verbatim: usize,
    /// The open element whose contents are hidden.
    hidden: Option<String>,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut state = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => state.characters(&text),
            Token::TagToken(tag) => match tag.kind {
                TagKind::StartTag => return state.start(&tag),
                TagKind::EndTag => state.end(&tag.name),
            },
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl State {
    fn characters(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.verbatim > 0 {
            self.text.push_str(text);
        } else {
            push_collapsed(&mut self.text, text);
        }
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name: &str = &tag.name;
        if matches!(
            name,
            "script" | "style" | "title" | "textarea" | "xmp" | "iframe" | "noembed" | "noframes"
        ) {
            let kind = match name {
                "script" => RawKind::ScriptData,
                "title" | "textarea" => RawKind::Rcdata,
                _ => RawKind::Rawtext,
            };
            if self.hidden.is_none() && matches!(name, "script" | "style" | "title") {
                self.hidden = Some(name.to_owned());
            }
            return if tag.self_closing && name != "script" {
                TokenSinkResult::Continue
            } else {
                TokenSinkResult::RawData(kind)
            };
        }
        if self.hidden.is_some() {
            return TokenSinkResult::Continue;
        }
        match name {
            "br" => self.text.push('\n'),
            "hr" => self.flush(),
            "img" => self.image(tag),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush();
                self.heading = Some(name.as_bytes()[1] - b'0');
            }
            "ul" | "ol" | "menu" => {
                self.flush();
                self.lists.push(false);
            }
            "li" => {
                self.flush();
                match self.lists.last_mut() {
                    Some(open) => *open = true,
                    None => self.lists.push(true),
                }
            }
            "pre" => {
                self.flush();
                self.verbatim += 1;
            }
            "table" => self.start_table(),
            "tr" => self.start_row(),
            "td" | "th" => {
                let attribute = |name: &str| {
                    let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name);
                    found.map(|attribute| &*attribute.value)
                };
                self.start_cell(Span::new(attribute("rowspan"), attribute("colspan")));
            }
            "thead" | "tbody" | "tfoot" => self.end_group(),
            name if is_block(name) => self.flush(),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    fn end(&mut self, name: &str) {
        if let Some(hidden) = &self.hidden {
            if hidden == name {
                self.hidden = None;
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush();
                self.heading = None;
            }
            "li" => {
                self.flush();
                if let Some(open) = self.lists.last_mut() {
                    *open = false;
                }
            }
            "ul" | "ol" | "menu" => {
                self.flush();
                self.lists.pop();
            }
            "pre" => {
                self.flush();
                self.verbatim = self.verbatim.saturating_sub(1);
            }
            "td" | "th" => self.end_cell(),
            "tr" => self.end_row(),
            "thead" | "tbody" | "tfoot" => self.end_group(),
            "table" => self.end_table(),
            name if is_block(name) => self.flush(),
            _ => {}
        }
    }

    fn image(&mut self, tag: &Tag) {
        let alt = tag.attrs.iter().find(|attribute| &*attribute.name.local == "alt");
        if let Some(alt) = alt.filter(|alt| !alt.value.trim().is_empty()) {
            let shown = format!("[{}]", alt.value.trim());
            push_collapsed(&mut self.text, &shown);
        }
    }

    fn start_table(&mut self) {
        if self.tables.len() >= MAX_TABLES {
            self.deeper += 1;
            return self.flush();
        }
        self.flush();
        let around = std::mem::take(&mut self.text);
        self.tables.push(Table {
            around,
            ..Table::default()
        });
    }

    fn start_row(&mut self) {
        self.end_row();
        if self.tables.is_empty() {
            // A fragment may begin with a row. Then start a table for this row.
            self.start_table();
        }
        self.flush();
        if let Some(table) = self.tables.last_mut() {
            // Text before this row, such as a caption, is in no cell of this table. If the table itself is inside a
            // cell, the text becomes a part of that cell.
            table.around.push_str(&std::mem::take(&mut self.text));
            table.in_row = true;
        }
    }

    fn start_cell(&mut self, span: Span) {
        if self.tables.is_empty() {
            return self.flush();
        }
        self.end_cell();
        if self.tables.last().is_some_and(|table| !table.in_row) {
            self.start_row();
        }
        if let Some(table) = self.tables.last_mut() {
            table.cell = Some(span);
        }
    }

    /// Ends a cell and adds its text to the row. Text between two cells gets a cell of its own.
    fn end_cell(&mut self) {
        let Some(table) = self.tables.last_mut().filter(|table| table.in_row) else {
            return self.flush();
        };
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let span = table.cell.take();
        if span.is_some() || !text.is_empty() {
            let span = span.unwrap_or(Span::ONE);
            table.grid.cell(text.to_owned(), span, &mut self.room);
        }
    }

    /// Ends a row and writes its cells as one line, separated by tabs.
    fn end_row(&mut self) {
        if self.tables.last().is_none_or(|table| !table.in_row) {
            return;
        }
        self.end_cell();
        let Some(table) = self.tables.last_mut() else { return };
        table.in_row = false;
        let mut cells = table.grid.end_row(&mut self.room);
        if cells.len() > 1 {
            for cell in &mut cells {
                *cell = cell.replace(['\n', '\t'], " ");
            }
        }
        let line = cells.join("\t");
        if line.trim().is_empty() {
            return;
        }
        if self.in_cell() {
            // A table inside a cell becomes part of the cell's text.
            if let Some(table) = self.tables.last_mut() {
                table.around.push_str(&line);
                table.around.push('\n');
            }
        } else {
            self.blocks.paragraph(&line);
        }
    }

    fn end_group(&mut self) {
        self.end_row();
        self.flush();
        if let Some(table) = self.tables.last_mut() {
            table.grid.end_group();
        }
    }

    fn end_table(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return self.flush();
        }
        self.end_row();
        self.flush();
        let Some(table) = self.tables.pop() else { return };
        if table.grid.is_cut() {
            self.blocks.note(CUT);
        }
        let below = std::mem::replace(&mut self.text, table.around);
        self.text.push_str(&below);
    }

    /// Whether a row is open in any of the open tables.
    fn in_cell(&self) -> bool {
        self.tables.iter().any(|table| table.in_row)
    }

    fn flush(&mut self) {
        if self.in_cell() {
            // Inside a cell, a block does not become a block of the document. It only ends the line of the cell's text.
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            return;
        }
        let text = std::mem::take(&mut self.text);
        if let Some(level) = self.heading {
            self.blocks.heading(level, &text.replace('\n', " "));
        } else if self.lists.contains(&true) {
            self.blocks.item(&text);
        } else if self.verbatim > 0 {
            self.blocks.verbatim(&text);
        } else {
            self.blocks.paragraph(&text);
        }
    }

    fn finish(mut self) -> Vec<Block> {
        self.deeper = 0;
        while !self.tables.is_empty() {
            self.end_table();
        }
        self.flush();
        self.blocks.into_vec()
    }
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "head"
            | "header"
            | "html"
            | "legend"
            | "main"
            | "nav"
            | "p"
            | "section"
            | "summary"
            | "option"
            | "template"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paragraph(text: &str) -> Block {
        Block::Paragraph(text.to_owned())
    }

    #[test]
    fn blocks_items_and_rows_are_kept_apart() {
        let blocks = read(
            "<html><head><title>T</title><style>p{}</style></head><body><h2>Care <b>team</b></h2><p>One<br>two</p>\
             <ul><li>a</li><li>b</ul><table><tr><th>Name<th>Role</tr><tr><td>Ana</td><td><p>Nurse</p></td></tr></table>\
             <script>alert('<p>no</p>')</script>&lt;end&gt;</body>",
        );
        assert_eq!(
            blocks,
            [
                Block::Heading(2, "Care team".to_owned()),
                paragraph("One\ntwo"),
                Block::Items(vec!["a".to_owned(), "b".to_owned()]),
                paragraph("Name\tRole"),
                paragraph("Ana\tNurse"),
                paragraph("<end>"),
            ]
        );
    }

    #[test]
    fn what_is_not_closed_is_not_lost() {
        assert_eq!(read("<table><tr><td>a<td>b"), [paragraph("a\tb")]);
        assert_eq!(read("<p>x<script>y"), [paragraph("x")]);
        assert_eq!(read("plain & simple"), [paragraph("plain & simple")]);
        assert_eq!(
            read("<pre>\n  a  b\n c\n</pre>"),
            [Block::Verbatim("  a  b\n c".to_owned())]
        );
        let deep = "<div>".repeat(100_000) + "x";
        assert_eq!(read(&deep), [paragraph("x")]);
    }
    /// Regression: empty cells were left out, so values appeared in other columns than in the document.
    #[test]
    fn cells_keep_their_columns() {
        let cases: [(&str, &[&str]); 5] = [
            ("<tr><td>a</td><td></td><td>b</td></tr>", &["a\t\tb"]),
            ("<tr><td></td><td> </td><td>b</td></tr><tr><td></tr>", &["\t\tb"]),
            ("<tr><td>a<td><td>b<tr><td>c", &["a\t\tb", "c"]),
            (
                "<thead><tr><th rowspan=\"2\">a<th colspan=2>b<th>c<tbody><tr><td rowspan=2>d<td>e<tr><td>f<td>g",
                &["a\tb\t\tc", "d\te", "d\tf\tg"],
            ),
            (
                "<tr><td colspan=1e9 rowspan=1000000000>a<td>b<tr><td>c",
                &["a\tb", "a\tc"],
            ),
        ];
        for (html, lines) in cases {
            let expected: Vec<Block> = lines.iter().map(|line| paragraph(line)).collect();
            assert_eq!(read(&format!("<table>{html}</table>")), expected, "{html}");
        }
    }

    #[test]
    fn tables_inside_of_cells_leave_the_cell_around_them_whole() {
        let inner = "<table><tr><td>x<td><td>y</tr><tr><td>z</table>";
        assert_eq!(
            read(&format!("<table><tr><td>before{inner}after</td></tr></table>end")),
            [paragraph("before\nx\t\ty\nz\nafter"), paragraph("end")]
        );
        // If the outer row has other cells, the rows of the inner table become one line, and its tabs become spaces.
        assert_eq!(
            read(&format!("<table><tr><td>a<td>before{inner}<td>b</table>")),
            [paragraph("a\tbefore x  y z\tb")]
        );
    }
}
