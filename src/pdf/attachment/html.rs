//! Converts HTML to blocks: blocks become lines, items get bullets, and tabs separate the cells of a table row. It
//! processes the tokens of html5ever one by one without a tree, so depth costs nothing.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use super::block::{Block, Blocks, push_collapsed};

/// Converts an HTML document or fragment.
pub(super) fn read(text: &str) -> Vec<Block> {
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    // A tendril holds less than 4 GiB, and attachments are far smaller.
    input.push_back(StrTendril::from_slice(text));
    while !input.is_empty() {
        // A script stops the tokenizer. The loop then continues.
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    tokenizer.sink.0.into_inner().finish()
}

#[derive(Default)]
struct Sink(RefCell<State>);

#[derive(Default)]
struct State {
    blocks: Blocks,
    /// The text of the open block.
    text: String,
    /// The level of the open heading, if one is open.
    heading: Option<u8>,
    /// For each open list, whether an item is open. The end tag of an item may be missing.
    lists: Vec<bool>,
    /// For each open table row, its cells so far.
    rows: Vec<Vec<String>>,
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
            "tr" => {
                self.flush();
                if self.rows.len() < 64 {
                    self.rows.push(Vec::new());
                }
            }
            "td" | "th" => self.cell(),
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
            "td" | "th" => self.cell(),
            "tr" => self.row(),
            "table" => {
                self.flush();
                self.row();
            }
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

    /// Ends a cell and adds its text to the row.
    fn cell(&mut self) {
        let Some(row) = self.rows.last_mut() else {
            return self.flush();
        };
        let text = std::mem::take(&mut self.text);
        if !text.trim().is_empty() {
            row.push(text.trim().replace('\n', " "));
        }
    }

    /// Ends a row and writes its cells as a line, separated by tabs.
    fn row(&mut self) {
        self.cell();
        let Some(cells) = self.rows.pop() else { return };
        let line = cells.join("\t");
        if self.rows.is_empty() {
            self.blocks.paragraph(&line);
        } else if !line.is_empty() {
            // A table inside a cell becomes part of the cell's text.
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    fn flush(&mut self) {
        if !self.rows.is_empty() {
            // Blocks inside a cell stay in the cell.
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
        } else {
            self.blocks.paragraph(&text);
        }
    }

    fn finish(mut self) -> Vec<Block> {
        while !self.rows.is_empty() {
            self.row();
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
            | "table"
            | "tbody"
            | "tfoot"
            | "thead"
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
        assert_eq!(read("<pre>a  b\n c</pre>"), [paragraph("a  b\n c")]);
        let deep = "<div>".repeat(100_000) + "x";
        assert_eq!(read(&deep), [paragraph("x")]);
    }
}
