//! Adds an attachment to a document.

use super::block::Block;
use super::kind::{Kind, kind_of};
use super::{cda, charset, html, image, original, rtf};
use crate::pdf::Document;
use crate::pdf::table::Column;

/// Headings of attachments are one level below the document's and not in its outline.
const BELOW: u8 = 4;

/// A document that was attached to a record.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// Its title, for its heading and its file name.
    pub title: String,
    /// The media type that it came with.
    pub content_type: Option<String>,
    /// Its address, if it had one.
    pub url: Option<String>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The result of adding an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The document shows its contents.
    Shown,
    /// The document includes its pages.
    Appended {
        /// The number of pages.
        pages: usize,
    },
    /// A placeholder with the reason replaces it.
    Placeholder,
}

impl Document {
    /// Adds an attachment at the current position.
    pub fn attachment(&mut self, attachment: Attachment) -> Outcome {
        self.attached(attachment, true)
    }

    /// Adds a remark that an attachment is missing, with the reason.
    pub fn missing(&mut self, attachment: &Attachment, reason: &str) {
        self.note(&format!("Not shown: {reason}. {}", type_and_address(attachment)));
    }

    fn attached(&mut self, attachment: Attachment, may_wrap: bool) -> Outcome {
        if self.is_stopped() {
            return Outcome::Placeholder;
        }
        let declared = attachment.content_type.as_deref();
        match kind_of(declared, &attachment.bytes) {
            Kind::Pdf => self.attached_pdf(attachment),
            Kind::Xml => self.attached_xml(attachment, may_wrap),
            Kind::Html => {
                let blocks = html::read(&text_of(&attachment));
                self.show(&attachment, blocks)
            }
            Kind::Text => {
                let text = text_of(&attachment).into_owned();
                let text = text.replace("\r\n", "\n").replace('\r', "\n");
                self.show(&attachment, vec![Block::Paragraph(text)])
            }
            Kind::Rtf => match rtf::read(&attachment.bytes) {
                Some(blocks) => self.show(&attachment, blocks),
                None => self.placeholder(attachment, "it is no RTF document"),
            },
            kind @ (Kind::Png | Kind::Jpeg | Kind::Gif | Kind::Webp) => self.attached_picture(attachment, kind),
            Kind::Other => self.placeholder(attachment, "documents of this type are not shown"),
        }
    }

    fn attached_pdf(&mut self, attachment: Attachment) -> Outcome {
        match original::read(&attachment.bytes) {
            Ok(file) => {
                let pages = file.get_pages().len();
                let one = if pages == 1 { "page follows" } else { "pages follow" };
                self.note(&format!("{pages} {one}, as they came from the source."));
                self.append(file);
                Outcome::Appended { pages }
            }
            Err(reason) => self.placeholder(attachment, reason),
        }
    }

    fn attached_xml(&mut self, attachment: Attachment, may_wrap: bool) -> Outcome {
        match cda::read(&text_of(&attachment)) {
            Ok(cda::Document::Sections(blocks) | cda::Document::Other(blocks)) => self.show(&attachment, blocks),
            Ok(cda::Document::File {
                head,
                content_type,
                bytes,
            }) if may_wrap => {
                self.blocks(head);
                let inner = Attachment {
                    content_type,
                    bytes,
                    ..attachment
                };
                self.attached(inner, false)
            }
            Ok(cda::Document::File { .. }) => {
                self.placeholder(attachment, "it is a document inside of a document inside of a document")
            }
            Err(reason) => {
                let reason = format!("the document could not be parsed: {reason}");
                self.placeholder(attachment, &reason)
            }
        }
    }

    fn attached_picture(&mut self, attachment: Attachment, kind: Kind) -> Outcome {
        match image::read(kind, attachment.bytes.clone(), self.pixels) {
            Ok((image, pixels)) => {
                self.pixels -= pixels;
                self.note(&type_and_address(&attachment));
                self.picture(image, &attachment.title);
                Outcome::Shown
            }
            Err(reason) => self.placeholder(attachment, reason),
        }
    }

    fn show(&mut self, attachment: &Attachment, blocks: Vec<Block>) -> Outcome {
        let before = self.characters_without_glyph();
        if blocks.is_empty() {
            self.note("The document has no text.");
        }
        self.blocks(blocks);
        let missing = self.characters_without_glyph() - before;
        if missing > 0 {
            self.note(&format!(
                "{missing} characters of this document have no glyph in the font of this file and are shown as boxes. \
                 The original is attached to this file."
            ));
            self.keep_original(attachment);
        }
        Outcome::Shown
    }

    /// Writes a remark instead of the contents. The original is embedded in the file if it has bytes.
    fn placeholder(&mut self, attachment: Attachment, reason: &str) -> Outcome {
        self.note(&format!("Not shown: {reason}. {}", type_and_address(&attachment)));
        if !attachment.bytes.is_empty() {
            self.note("The original is attached to this file.");
            self.keep_original(&attachment);
        }
        Outcome::Placeholder
    }

    fn keep_original(&mut self, attachment: &Attachment) {
        let content_type = attachment.content_type.as_deref().unwrap_or("application/octet-stream");
        self.embed(
            &file_name(&attachment.title),
            content_type,
            &attachment.title,
            attachment.bytes.clone(),
        );
    }

    fn blocks(&mut self, blocks: Vec<Block>) {
        for block in blocks {
            if self.is_stopped() {
                return;
            }
            match block {
                Block::Heading(level, text) => self.heading(BELOW + level, &text),
                Block::Paragraph(text) => self.paragraph(&text),
                Block::Items(items) => self.list(&items),
                Block::Note(text) => self.note(&text),
                Block::Fields(fields) => {
                    let mut table = self.fields("Facts of the document");
                    for (name, value) in fields {
                        table.row(&[name, value]);
                    }
                }
                Block::Table { head, rows } => self.attached_table(&head, &rows),
            }
        }
    }

    fn attached_table(&mut self, head: &[String], rows: &[Vec<String>]) {
        let widest = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if widest > 12 {
            // Columns would be too narrow to read, so each row becomes a line.
            for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
                if self.is_stopped() {
                    return;
                }
                self.paragraph(&row.join("\t"));
            }
            return;
        }
        let titles: Vec<&str> = (0..widest)
            .map(|place| head.get(place).map_or("", String::as_str))
            .collect();
        let columns = Column::fitting(&titles, rows);
        let mut table = self.table("Table of the document", &columns);
        for row in rows {
            if table.is_stopped() {
                return;
            }
            table.row(row);
        }
    }
}

fn text_of(attachment: &Attachment) -> std::borrow::Cow<'_, str> {
    let inside = charset::declared_inside(&attachment.bytes);
    let outside = attachment.content_type.as_deref().and_then(charset::parameter);
    charset::decode(&attachment.bytes, inside.as_deref().or(outside))
}

fn type_and_address(attachment: &Attachment) -> String {
    let content_type = attachment.content_type.as_deref().unwrap_or("not given");
    match &attachment.url {
        Some(url) => format!("Content type: {content_type}. Address: {url}"),
        None => format!("Content type: {content_type}."),
    }
}

/// A name that is valid on all file systems.
fn file_name(title: &str) -> String {
    let name: String = title
        .chars()
        .map(|character| {
            if character.is_alphanumeric() || "-_.".contains(character) {
                character
            } else {
                '-'
            }
        })
        .take(80)
        .collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() {
        "document".to_owned()
    } else {
        name.to_owned()
    }
}
