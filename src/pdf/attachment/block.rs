//! The blocks that readers of attachments produce.

/// A piece of an attached document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading: its level, which starts at 1, and its text.
    Heading(u8, String),
    /// A paragraph with its line breaks.
    Paragraph(String),
    /// A text whose spaces and line breaks matter.
    Verbatim(String),
    /// Consecutive items of a list.
    Items(Vec<String>),
    /// A table. Its head may be empty.
    Table { head: Vec<String>, rows: Vec<Vec<String>> },
    /// Names and values, such as the facts in a document's header. They become a table without a head.
    Fields(Vec<(String, String)>),
    /// A remark that this program adds to the document.
    Note(String),
    /// A file inside of the document, such as a picture.
    Media(Media),
}

/// A file inside of a document, such as a picture of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    /// The name of the file in the document.
    pub(super) name: String,
    pub(super) content_type: Option<String>,
    pub(super) content: Content,
}

/// The content of a file inside of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// The document contains only the address of the file.
    Elsewhere(String),
    /// The content is in the document, but cannot be decoded. The value is its text.
    Undecodable(String),
}

/// The blocks of a document. Empty blocks are not added.
#[derive(Debug, Default)]
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    pub(super) fn heading(&mut self, level: u8, text: &str) {
        if !text.trim().is_empty() {
            self.0.push(Block::Heading(level, text.trim().to_owned()));
        }
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        let text = text.trim_matches(['\n', '\r', ' ']);
        if !text.trim().is_empty() {
            self.0.push(Block::Paragraph(text.to_owned()));
        }
    }

    pub(super) fn verbatim(&mut self, text: &str) {
        // Leave out blank lines around the text, but keep the indentation of the first line.
        let start = text.len() - text.trim_start().len();
        let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let text = text[start..].trim_end();
        if !text.is_empty() {
            self.0.push(Block::Verbatim(text.to_owned()));
        }
    }

    /// Adds an item to the preceding list, or begins a list.
    pub(super) fn item(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Block::Items(items)) => items.push(text.to_owned()),
            _ => self.0.push(Block::Items(vec![text.to_owned()])),
        }
    }

    pub(super) fn table(&mut self, head: Vec<String>, rows: Vec<Vec<String>>) {
        if !head.is_empty() || !rows.is_empty() {
            self.0.push(Block::Table { head, rows });
        }
    }

    pub(super) fn fields(&mut self, fields: Vec<(String, String)>) {
        if !fields.is_empty() {
            self.0.push(Block::Fields(fields));
        }
    }

    pub(super) fn media(&mut self, media: Media) {
        self.0.push(Block::Media(media));
    }

    pub(super) fn note(&mut self, text: &str) {
        self.0.push(Block::Note(text.to_owned()));
    }

    /// Appends all blocks of `other`.
    pub(super) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<Block> {
        self.0
    }
}

/// Appends text, with each run of white space as one space, as HTML and CDA narratives show it.
pub(super) fn push_collapsed(out: &mut String, text: &str) {
    for character in text.chars() {
        if matches!(character, ' ' | '\t' | '\r' | '\n') {
            if !out.is_empty() && !out.ends_with([' ', '\n']) {
                out.push(' ');
            }
        } else {
            out.push(character);
        }
    }
}
