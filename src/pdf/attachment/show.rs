//! Adds an attachment to a document.

use super::block::{Block, Content, Media};
use super::kind::{Kind, kind_of};
use super::{cda, charset, html, image, original, rtf};
use crate::pdf::Document;
use crate::pdf::table::Column;

/// The number that is added to the level of an attachment's headings. It keeps them below the document's own headings
/// and out of the outline.
const BELOW: u8 = 4;

/// The maximum number of characters of a document's title that the titles of files inside of it repeat.
const MAX_TITLE: usize = 1_000;

/// A document that was attached to a record.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The title. It names the embedded file and describes a picture.
    pub title: String,
    /// The media type that came with the attachment.
    pub content_type: Option<String>,
    /// The address, if the attachment had one.
    pub url: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The result of adding an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The document shows the contents of the attachment.
    Shown,
    /// The document includes the pages of the attachment, or of files inside of it.
    Appended {
        /// The number of inserted pages.
        pages: usize,
    },
    /// The document shows the contents of the attachment, but a placeholder replaces a file inside of it.
    Partial {
        /// The number of inserted pages. They are the pages of other files inside of the attachment.
        pages: usize,
        /// Why the file inside of the attachment is not shown. If several files are not shown, the reason for the first
        /// one.
        reason: String,
    },
    /// A placeholder replaces the attachment, because documents of its type are not shown.
    Placeholder,
    /// A placeholder replaces the attachment, because its contents could not be read.
    Unreadable {
        /// Why the attachment is not shown.
        reason: String,
    },
}

impl Outcome {
    /// Returns why contents are missing from the pages. `None` if nothing is missing, or if documents of the
    /// attachment's type are not shown.
    pub fn loss(&self) -> Option<&str> {
        match self {
            Self::Partial { reason, .. } | Self::Unreadable { reason } => Some(reason),
            Self::Shown | Self::Appended { .. } | Self::Placeholder => None,
        }
    }

    /// Returns the number of appended pages.
    pub fn pages(&self) -> usize {
        match self {
            Self::Appended { pages } | Self::Partial { pages, .. } => *pages,
            Self::Shown | Self::Placeholder | Self::Unreadable { .. } => 0,
        }
    }
}

/// The result for the files inside a document.
#[derive(Default)]
struct Inner {
    pages: usize,
    loss: Option<String>,
}

impl Inner {
    fn outcome(self) -> Outcome {
        let Self { pages, loss } = self;
        match loss {
            Some(reason) => Outcome::Partial { pages, reason },
            None if pages > 0 => Outcome::Appended { pages },
            None => Outcome::Shown,
        }
    }
}

impl Attachment {
    /// Whether documents of its type are shown. If not, only its original is embedded.
    pub fn is_shown(&self) -> bool {
        kind_of(self.content_type.as_deref(), &self.bytes) != Kind::Other
    }
}

impl Document {
    /// Adds an attachment at the current position.
    pub fn attachment(&mut self, attachment: Attachment) -> Outcome {
        self.attached(attachment, true)
    }

    /// Adds a note that an attachment is missing, with the reason. The record may have a text in place of the
    /// attachment. Then `attachment.bytes` has this text, and it is embedded in the file.
    pub fn missing(&mut self, attachment: &Attachment, reason: &str) {
        self.note(&format!("Not shown: {reason}. {}", type_and_address(attachment)));
        if !attachment.bytes.is_empty() {
            self.note("The text in its place is attached to this file.");
            let name = format!("{}.txt", file_name(&attachment.title));
            self.embed(&name, "text/plain", &attachment.title, attachment.bytes.clone());
        }
    }

    /// Adds a note in place of an attachment that must not be read. If `is_kept`, its bytes are embedded in the file.
    pub fn unread(&mut self, mut attachment: Attachment, reason: &str, is_kept: bool) -> Outcome {
        if !is_kept {
            attachment.bytes.clear();
        }
        self.unreadable(attachment, reason)
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
                self.show(&attachment, vec![Block::Verbatim(text)])
            }
            Kind::Rtf => match rtf::read(&attachment.bytes) {
                Some(blocks) => self.show(&attachment, blocks),
                None => self.unreadable(attachment, "it is no RTF document"),
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
            Err(reason) => self.unreadable(attachment, reason),
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
                self.blocks(head, &attachment.title);
                let inner = Attachment {
                    title: attachment.title.clone(),
                    content_type,
                    url: attachment.url.clone(),
                    bytes,
                };
                let outcome = self.attached(inner, false);
                if matches!(outcome, Outcome::Placeholder | Outcome::Unreadable { .. }) {
                    self.note("The whole document is attached to this file, too.");
                    self.keep_original(&attachment);
                }
                outcome
            }
            Ok(cda::Document::File { .. }) => {
                self.unreadable(attachment, "it is a document inside of a document inside of a document")
            }
            Ok(cda::Document::Elsewhere {
                head,
                content_type,
                address,
            }) => {
                self.blocks(head, &attachment.title);
                let content_type = content_type.as_deref().unwrap_or("no given type");
                let reason = format!("it only names a document of {content_type}, which is elsewhere: {address}");
                self.unreadable(attachment, &reason)
            }
            Err(reason) => {
                let reason = format!("the document could not be parsed: {reason}");
                self.unreadable(attachment, &reason)
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
            Err(reason) => self.unreadable(attachment, reason),
        }
    }

    fn show(&mut self, attachment: &Attachment, blocks: Vec<Block>) -> Outcome {
        let before = self.characters_without_glyph();
        if blocks.is_empty() {
            self.note("The document has no text.");
        }
        let inner = self.blocks(blocks, &attachment.title);
        let missing = self.characters_without_glyph() - before;
        if missing > 0 {
            self.note(&format!(
                "{missing} characters of this document have no glyph in the font of this file and are shown as boxes. \
                 The original is attached to this file."
            ));
            self.keep_original(attachment);
        }
        inner.outcome()
    }

    fn unreadable(&mut self, attachment: Attachment, reason: &str) -> Outcome {
        self.placeholder(attachment, reason);
        Outcome::Unreadable {
            reason: reason.to_owned(),
        }
    }

    /// Adds a file that is inside of a document. `title` is the document's title. An XML file inside of a document is
    /// not read, so that documents cannot nest without end.
    fn media(&mut self, media: Media, title: &str) -> Outcome {
        let Media {
            name,
            content_type,
            content,
        } = media;
        self.note(&format!("Picture or file {name}"));
        let title: String = title.chars().take(MAX_TITLE).collect();
        let is_xml = matches!(&content, Content::Bytes(bytes) if kind_of(content_type.as_deref(), bytes) == Kind::Xml);
        let attachment = |bytes: Vec<u8>, url: Option<String>| Attachment {
            title: format!("{title} {name}").trim_end().to_owned(),
            content_type,
            url,
            bytes,
        };
        match content {
            Content::Bytes(bytes) if bytes.is_empty() => self.unreadable(attachment(bytes, None), "it is empty"),
            Content::Bytes(bytes) if is_xml => {
                self.unreadable(attachment(bytes, None), "it is a document inside of a document")
            }
            Content::Bytes(bytes) => self.attached(attachment(bytes, None), false),
            Content::Elsewhere(address) => self.unreadable(
                attachment(Vec::new(), Some(address)),
                "only its address is in the document",
            ),
            Content::Undecodable(text) => {
                let reason = "it is not base64";
                self.missing(&attachment(text.into_bytes(), None), reason);
                Outcome::Unreadable {
                    reason: reason.to_owned(),
                }
            }
        }
    }

    /// Writes a note in place of the contents. If the attachment has bytes, they are embedded in the file.
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

    /// Adds the blocks of a document. `title` is the document's title. Returns the result for the files inside of the
    /// document.
    fn blocks(&mut self, blocks: Vec<Block>, title: &str) -> Inner {
        let mut inner = Inner::default();
        for block in blocks {
            if self.is_stopped() {
                break;
            }
            match block {
                Block::Heading(level, text) => self.heading(BELOW + level, &text),
                Block::Paragraph(text) => self.paragraph(&text),
                Block::Verbatim(text) => self.verbatim(&text),
                Block::Items(items) => self.list(&items),
                Block::Note(text) => self.note(&text),
                Block::Fields(fields) => {
                    let mut table = self.fields("Facts of the document");
                    for (name, value) in fields {
                        table.row(&[name, value]);
                    }
                }
                Block::Table { head, rows } => self.attached_table(&head, &rows),
                Block::Media(media) => {
                    let outcome = self.media(media, title);
                    inner.pages += outcome.pages();
                    inner.loss = inner.loss.or(outcome.loss().map(str::to_owned));
                }
            }
        }
        inner
    }

    fn attached_table(&mut self, head: &[String], rows: &[Vec<String>]) {
        let widest = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
        if widest > 12 {
            // More than 12 columns would be too narrow to read, so each row becomes a line.
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
    /// A longer address is not shown in full: it has the document itself, as `data:` URLs have.
    const MAX_ADDRESS: usize = 64 << 10;
    let content_type = attachment.content_type.as_deref().unwrap_or("not given");
    match &attachment.url {
        Some(url) if url.len() > MAX_ADDRESS => {
            let (shown, all) = (&url[..url.floor_char_boundary(MAX_ADDRESS)], url.len());
            format!("Content type: {content_type}. Address: {shown}… (the first part of {all} bytes)")
        }
        Some(url) => format!("Content type: {content_type}. Address: {url}"),
        None => format!("Content type: {content_type}."),
    }
}

/// Turns a title into a file name that is valid on all file systems.
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
