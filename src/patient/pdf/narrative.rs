//! Turns a narrative into plain text: blocks become lines, and commas separate the cells of a table row.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

/// HTML elements that begin and end a line.
const BLOCKS: &[&str] = &[
    "div",
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "caption",
    "tr",
    "pre",
    "blockquote",
];
const CELLS: &[&str] = &["td", "th"];

/// Returns the readable text of XHTML.
pub(super) fn plain(xhtml: &str) -> String {
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    // A tendril must be smaller than 4 GiB. A resource is far smaller, so this does not fail.
    input.push_back(StrTendril::from_slice(xhtml));
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    let mut lines = tokenizer.sink.0.into_inner();
    lines.next();
    lines.whole.join("\n")
}

#[derive(Default)]
struct Sink(RefCell<Lines>);

#[derive(Default)]
struct Lines {
    whole: Vec<String>,
    /// The text of the line that is not yet complete.
    open: String,
    /// Whether the next text begins a new table cell in the line that is not yet complete.
    in_next_cell: bool,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut lines = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => lines.text(&text),
            Token::TagToken(tag) if BLOCKS.contains(&&*tag.name) => lines.next(),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag && CELLS.contains(&&*tag.name) => {
                lines.in_next_cell = !lines.open.trim().is_empty();
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Lines {
    /// Adds a text and collapses its white space.
    fn text(&mut self, text: &str) {
        for letter in text.chars() {
            if letter.is_whitespace() {
                if !self.open.is_empty() && !self.open.ends_with(' ') {
                    self.open.push(' ');
                }
                continue;
            }
            if std::mem::take(&mut self.in_next_cell) {
                self.open.truncate(self.open.trim_end().len());
                self.open.push_str(", ");
            }
            self.open.push(letter);
        }
    }

    /// Ends the line that is not yet complete.
    fn next(&mut self) {
        let line = self.open.trim();
        if !line.is_empty() {
            self.whole.push(line.to_owned());
        }
        self.open.clear();
        self.in_next_cell = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_lines_and_cells_are_separated() {
        let xhtml = "<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>Walk &amp; <b>rest</b></p>\n  two<br/>three\
                     <table><tr><td>Salt</td> <td></td><td> less </td></tr><tr><th>x</th></tr></table></div>";
        assert_eq!(plain(xhtml), "Walk & rest\ntwo\nthree\nSalt, less\nx");
        assert_eq!(plain("<div> </div>"), "");
    }
}
