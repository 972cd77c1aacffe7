//! Writes a document block by block.

use std::io::Write;

use krilla::configure::{Accessibility, ConfigurationBuilder};
use krilla::embed::{AssociationKind, EmbeddedFile, MimeType};
use krilla::error::KrillaError;
use krilla::image::Image;
use krilla::{Document as Writer, SerializeSettings};

use super::font::Face;
use super::heading::Headings;
use super::line::{Line, Setter, Style, piece, pieces};
use super::page::{HEIGHT, LEFT, Pages, WIDTH};
use super::stitch::{Insertion, stitch};
use super::structure::{Kind, Structure};
use super::{PdfError, Properties, Stop};

const TEXT: Style = Style {
    size: 10.0,
    face: Face::Regular,
    grey: 0,
};
const NOTE: Style = Style {
    size: 8.5,
    face: Face::Regular,
    grey: 90,
};
/// The largest size of verbatim text: 93 characters fit on a line.
const VERBATIM: f32 = 9.0;
/// The smallest size of verbatim text: 139 characters fit on a line.
const MIN_VERBATIM: f32 = 6.0;
/// The width of a character of the monospaced face at size 1.
const CHARACTER: f32 = 1233.0 / 2048.0;
/// The indentation of list items, in points.
const INDENT: f32 = 14.0;
/// The maximum number of decoded pixels of all pictures in a document. A pixel takes up to four bytes.
const MAX_PIXELS: u64 = 48_000_000;

/// A document while it is written. Blocks appear in the order in which they are added.
pub struct Document {
    pub(super) setter: Setter,
    pub(super) pages: Pages,
    pub(super) structure: Structure,
    properties: Properties,
    pub(super) headings: Headings,
    /// Embedded files, in the order in which they were added.
    files: Vec<EmbeddedFile>,
    insertions: Vec<Insertion>,
    /// The number of pixels that further pictures may have together. It is limited, because all pictures of the
    /// document are in memory when it is finished.
    pub(super) pixels: u64,
    /// Whether embedded files are compressed.
    is_packed: bool,
    stop: Stop,
}

impl Document {
    /// Begins a document. Fails if the built-in fonts cannot be read.
    pub fn new(properties: Properties) -> Result<Self, PdfError> {
        let configuration = ConfigurationBuilder::new()
            .with_accessibility_validator(Accessibility::UA1)
            .finish()
            .map_err(|_| PdfError::Writer("PDF/UA-1 is not supported"))?;
        let writer = Writer::new_with(SerializeSettings {
            configuration,
            enable_tagging: true,
            compress_content_streams: true,
            ..SerializeSettings::default()
        });
        Ok(Self {
            setter: Setter::new()?,
            pages: Pages::new(writer, properties.running_head.clone()),
            structure: Structure::default(),
            properties,
            headings: Headings::default(),
            files: Vec::new(),
            insertions: Vec::new(),
            pixels: MAX_PIXELS,
            is_packed: true,
            stop: Stop::default(),
        })
    }

    /// Makes the work on the document end early if `stop` is set.
    pub fn until(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Sets whether embedded files are compressed. That takes processor time.
    pub fn packed(mut self, is_packed: bool) -> Self {
        self.is_packed = is_packed;
        self
    }

    /// Whether the work should stop. If so, `finish` returns an error, and content that is added now is lost.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_asked()
    }

    /// Writes a paragraph with its line breaks.
    pub fn paragraph(&mut self, text: &str) {
        self.block(text, TEXT);
    }

    /// Writes a text in a monospaced face, so that its columns stay aligned. A tab leads to the next multiple of eight
    /// characters. Wide tables are set in smaller letters, so that their lines fit on the page.
    pub fn verbatim(&mut self, text: &str) {
        let text = without_tabs(text);
        let style = Style {
            size: verbatim_size(&text),
            face: Face::Mono,
            grey: 0,
        };
        self.block(&text, style);
    }

    /// Writes a remark in smaller and paler letters than a paragraph.
    pub fn note(&mut self, text: &str) {
        self.block(text, NOTE);
    }

    /// Writes a list.
    pub fn list<S: AsRef<str>>(&mut self, items: &[S]) {
        let mut texts = items.iter().map(|item| piece(item.as_ref()).0);
        let first = texts.find(|text| !text.trim().is_empty()).unwrap_or_default();
        if !first.is_empty() {
            let lines = self.setter.lines(first, TEXT, WIDTH - INDENT);
            self.settle(beginning(&lines));
        }
        self.structure.open(Kind::List);
        for item in items {
            let (text, rest) = piece(item.as_ref());
            let lines = self.setter.lines(text, TEXT, WIDTH - INDENT);
            if lines.is_empty() || self.is_stopped() {
                continue;
            }
            self.structure.open(Kind::Item);
            if self.pages.left() < lines[0].height {
                self.turn();
            }
            self.structure.open(Kind::ItemLabel);
            if let Some(bullet) = self.setter.lines("\u{2022}", TEXT, INDENT).into_iter().next() {
                let piece = self.structure.piece();
                let (x, y) = (LEFT + 3.0, self.pages.y());
                self.pages.line_at(x, y, bullet, super::page::Role::Content(piece));
            }
            self.structure.close();
            self.structure.open(Kind::ItemBody);
            self.place(lines, INDENT);
            for text in pieces(rest) {
                let lines = self.setter.lines(text, TEXT, WIDTH - INDENT);
                self.place(lines, INDENT);
            }
            self.structure.close();
            self.structure.close();
        }
        self.structure.close();
        self.pages.advance(4.0);
    }

    /// Draws a picture at 96 dots per inch, or smaller so that it fits on a page. `shows` is its description.
    pub(super) fn picture(&mut self, image: Image, shows: &str) {
        let (width, height) = image.size();
        let (width, height) = (width.max(1) as f32 * 0.75, height.max(1) as f32 * 0.75);
        let scale = (WIDTH / width).min((HEIGHT - 40.0) / height).min(1.0);
        let extent = (width * scale, height * scale);
        self.settle(4.0 + extent.1);
        self.pages.space(4.0);
        if self.pages.left() < extent.1 {
            self.turn();
        }
        self.structure.open(Kind::Figure(shows.to_owned()));
        let piece = self.structure.piece();
        self.pages.picture(image, extent, piece);
        self.structure.close();
        self.pages.advance(6.0);
    }

    /// Embeds a file. Viewers show it in their list of attachments.
    pub fn embed(&mut self, name: &str, content_type: &str, description: &str, bytes: Vec<u8>) {
        // A number before each name makes it unique. Without it, a file would replace another one with the same name.
        let path = format!("{}-{name}", self.files.len() + 1);
        self.files.push(EmbeddedFile {
            path,
            mime_type: MimeType::new(content_type),
            description: Some(description.to_owned()),
            association_kind: AssociationKind::Supplement,
            data: bytes.into(),
            modification_date: None,
            // The writer decides whether compression is of use.
            compress: if self.is_packed { None } else { Some(false) },
            location: None,
        });
    }

    /// Inserts the pages of another file after the current page. The next content starts a new page.
    pub(super) fn append(&mut self, file: lopdf::Document) {
        self.page_break();
        self.insertions.push(Insertion {
            after: self.pages.current(),
            file,
        });
    }

    /// Begins a new page, unless the current page is empty.
    pub fn page_break(&mut self) {
        self.settle(0.0);
        if !self.pages.is_blank() {
            self.turn();
        }
    }

    /// Returns the number of written pages, including the current one if it has content. Pages of attached files do not
    /// count.
    pub fn page_count(&mut self) -> usize {
        self.settle(0.0);
        self.pages.current() + usize::from(!self.pages.is_blank())
    }

    /// Returns the number of characters without a glyph in any font. They are drawn as boxes.
    pub fn characters_without_glyph(&self) -> u64 {
        self.setter.without_glyph
    }

    /// Finishes the document and returns the file.
    pub fn finish(self) -> Result<Vec<u8>, PdfError> {
        let mut file = Vec::new();
        self.finish_to(&mut file)?;
        Ok(file)
    }

    /// Finishes the document and writes it to `out`.
    pub fn finish_to(mut self, out: &mut dyn Write) -> Result<(), PdfError> {
        self.stop.check()?;
        self.settle(0.0);
        let mut writer = self.pages.finish(&mut self.setter, &mut self.structure);
        writer.set_metadata(self.properties.metadata());
        writer.set_outline(self.headings.outline(&self.properties.title));
        writer.set_tag_tree(self.structure.tree());
        for file in self.files {
            writer.embed_file(file);
        }
        let written = writer.finish().map_err(|error| PdfError::Writer(reason(&error)))?;
        self.stop.check()?;
        if self.insertions.is_empty() {
            return out.write_all(&written).map_err(PdfError::Output);
        }
        stitch(written, self.insertions, &self.stop, out)
    }

    pub(super) fn turn(&mut self) {
        self.pages.turn(&mut self.setter, &mut self.structure);
    }

    fn block(&mut self, text: &str, style: Style) {
        // The text is trimmed, because blank lines at its end could become a page of their own.
        let (first, rest) = piece(text.trim_end());
        let lines = self.setter.lines(first, style, WIDTH);
        self.settle(beginning(&lines));
        self.structure.open(Kind::Paragraph);
        self.place(lines, 0.0);
        for text in pieces(rest) {
            if self.is_stopped() {
                break;
            }
            let lines = self.setter.lines(text, style, WIDTH);
            self.place(lines, 0.0);
        }
        self.structure.close();
        self.pages.advance(4.0);
    }

    pub(super) fn place(&mut self, lines: Vec<Line>, indent: f32) {
        for line in lines {
            if self.pages.left() < line.height {
                self.turn();
            }
            let piece = self.structure.piece();
            self.pages.line(LEFT + indent, line, piece);
        }
    }
}

/// Returns the height of the first two lines, which stay with the heading above them.
fn beginning(lines: &[Line]) -> f32 {
    lines.iter().take(2).map(|line| line.height).sum()
}

/// Replaces each tab of a text by spaces up to the next multiple of eight characters.
fn without_tabs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut column = 0;
    for character in text.chars() {
        match character {
            '\t' => {
                let spaces = 8 - column % 8;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\n' => {
                out.push('\n');
                column = 0;
            }
            other => {
                out.push(other);
                column += 1;
            }
        }
    }
    out
}

/// Returns the size at which the rows of a text's tables fit on the page. A line with two consecutive spaces after its
/// first character counts as a row. Other lines may wrap, and so may a row that fits at no size.
fn verbatim_size(text: &str) -> f32 {
    let rows = text
        .lines()
        .map(str::trim_end)
        .filter(|line| line.trim_start().contains("  "));
    let widths = rows.map(|row| row.chars().count() as f32 * CHARACTER * MIN_VERBATIM);
    let widest = widths.filter(|width| *width < WIDTH).fold(0.0, f32::max);
    // One percent of the width stays free, so that a rounding error does not wrap a line that just fits.
    (0.99 * WIDTH * MIN_VERBATIM / widest.max(1.0)).clamp(MIN_VERBATIM, VERBATIM)
}

/// Returns the reason of a writer's error, without any text of the document.
fn reason(error: &KrillaError) -> &'static str {
    match error {
        KrillaError::Font(..) => "a font cannot be embedded",
        KrillaError::Validation(_) => "the document does not meet PDF/UA-1",
        KrillaError::Image(..) => "a picture cannot be written",
        _ => "the writer failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_lead_to_the_next_stop() {
        assert_eq!(without_tabs("a\tb\n\tc"), "a       b\n        c");
        assert_eq!(without_tabs("12345678\tx"), "12345678        x");
    }

    #[test]
    fn wide_tables_are_small_and_long_sentences_wrap() {
        let row = |length: usize| format!("a  {}", "b".repeat(length - 3));
        for (text, size) in [
            ("short".to_owned(), VERBATIM),
            ("b".repeat(120), VERBATIM),
            (row(80), VERBATIM),
            // A row of 500 characters does not fit at any size, so it does not count.
            (row(500), VERBATIM),
        ] {
            assert_eq!(verbatim_size(&text), size, "{text}");
        }
        for length in [100, 120, 138] {
            let size = verbatim_size(&row(length));
            assert!((MIN_VERBATIM..VERBATIM).contains(&size), "{size}");
            assert!(length as f32 * CHARACTER * size < WIDTH, "{length} at {size}");
        }
    }
}
