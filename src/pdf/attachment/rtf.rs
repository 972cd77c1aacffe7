//! Converts RTF to plain text: paragraphs are lines, and tabs separate the cells of a table row. Control words follow
//! Microsoft's RTF specification, version 1.9.1. Formatting is left out, and so are destinations without text (fonts,
//! styles, pictures, properties).

use std::collections::HashMap;

use super::block::{Block, Blocks};
use super::charset::decode_code_page;

/// The maximum depth of groups. A deeper group is read as part of the group around it.
const MAX_DEPTH: usize = 512;

/// The first control words of groups that contain no text of the document. These groups are hidden.
const HIDDEN: &[&str] = &[
    "fonttbl",
    "colortbl",
    "stylesheet",
    "listtable",
    "listoverridetable",
    "info",
    "pict",
    "object",
    "themedata",
    "colorschememapping",
    "latentstyles",
    "datastore",
    "generator",
    "xmlnstbl",
    "rsidtbl",
    "mmathPr",
    "fldinst",
    "bkmkstart",
    "bkmkend",
    "pntext",
    "pntxta",
    "pntxtb",
    "filetbl",
    "revtbl",
    "datafield",
    "private",
    "falt",
    "panose",
];

/// Converts an RTF document. `None` if it is not RTF.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Block>> {
    let start = bytes.windows(5).take(1024).position(|window| window == b"{\\rtf")?;
    let mut reader = Reader {
        input: &bytes[start..],
        at: 0,
        page: 1252,
        fonts: HashMap::new(),
        default_font: 0,
        state: State::default(),
        saved: Vec::new(),
        deeper: 0,
        pending: Vec::new(),
        skip: 0,
        text: String::new(),
        high: None,
        blocks: Blocks::default(),
    };
    reader.run();
    Some(reader.blocks.into_vec())
}

/// The state of a group. A group begins with the state of the group around it, which is restored at the group's end.
#[derive(Debug, Clone, Default)]
struct State {
    hidden: bool,
    /// Whether text is hidden by `\v`.
    invisible: bool,
    /// Whether this group is the font table.
    fonts: bool,
    font: i32,
    /// The number of fallback characters after a `\u`, for readers without Unicode. A reader of `\u` skips them. `None`
    /// means one.
    fallback: Option<usize>,
    /// Whether `\*` was read, but not yet the control word after it.
    optional: bool,
}

struct Reader<'a> {
    input: &'a [u8],
    at: usize,
    /// The document's code page.
    page: u16,
    /// The code pages of fonts, by the number of the font.
    fonts: HashMap<i32, u16>,
    default_font: i32,
    state: State,
    saved: Vec<State>,
    /// The number of open groups that are nested more deeply than `MAX_DEPTH`.
    deeper: usize,
    /// Bytes in the current code page that are not decoded yet.
    pending: Vec<u8>,
    /// The number of fallback characters left to skip after a `\u`.
    skip: usize,
    text: String,
    /// The first half of a surrogate pair, until the second half is read.
    high: Option<u16>,
    blocks: Blocks,
}

impl Reader<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.input.get(self.at) {
            self.at += 1;
            match byte {
                b'{' => self.open(),
                b'}' => {
                    self.close();
                    if self.saved.is_empty() {
                        break;
                    }
                }
                b'\\' => self.control(),
                b'\r' | b'\n' => {}
                other => self.byte(other),
            }
        }
        self.paragraph();
    }

    fn open(&mut self) {
        self.settle();
        if self.saved.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        self.saved.push(self.state.clone());
        self.state.optional = false;
    }

    fn close(&mut self) {
        self.settle();
        if self.deeper > 0 {
            self.deeper -= 1;
        } else if let Some(state) = self.saved.pop() {
            self.state = state;
        }
        self.skip = 0;
    }

    fn control(&mut self) {
        let Some(&byte) = self.input.get(self.at) else { return };
        if !byte.is_ascii_alphabetic() {
            self.at += 1;
            return self.symbol(byte);
        }
        let start = self.at;
        while self.input.get(self.at).is_some_and(u8::is_ascii_alphabetic) && self.at - start < 32 {
            self.at += 1;
        }
        // The word has only ASCII letters, so the conversion changes nothing.
        let word = String::from_utf8_lossy(&self.input[start..self.at]).into_owned();
        let number = self.number();
        if self.input.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        self.word(&word, number);
    }

    fn number(&mut self) -> Option<i32> {
        let start = self.at;
        if self.input.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        while self.input.get(self.at).is_some_and(u8::is_ascii_digit) && self.at - start < 11 {
            self.at += 1;
        }
        let number = std::str::from_utf8(&self.input[start..self.at]).ok()?.parse().ok();
        if number.is_none() {
            self.at = start;
        }
        number
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'\'' => {
                let digits = self.input.get(self.at..self.at + 2);
                let byte = digits
                    .and_then(|digits| std::str::from_utf8(digits).ok())
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok());
                if let Some(byte) = byte {
                    self.at += 2;
                    self.byte(byte);
                }
            }
            b'\\' | b'{' | b'}' => self.byte(symbol),
            b'~' => self.push('\u{a0}'),
            b'_' => self.push('\u{2011}'),
            b'*' => self.state.optional = true,
            b'\r' | b'\n' => self.paragraph(),
            _ => {}
        }
    }

    fn word(&mut self, word: &str, number: Option<i32>) {
        if HIDDEN.contains(&word) {
            self.state.hidden = true;
            self.state.fonts = word == "fonttbl";
            return;
        }
        let is_known = self.format(word, number) || self.separator(word);
        if self.state.optional && !is_known {
            // RTF allows a reader to skip a group that begins with `\*` and a word that the reader does not know.
            self.state.hidden = true;
        }
        self.state.optional = false;
    }

    /// Handles control words that change how text is decoded. Returns whether `word` is one of them.
    fn format(&mut self, word: &str, number: Option<i32>) -> bool {
        match word {
            "ansicpg" => self.page = number.and_then(|page| u16::try_from(page).ok()).unwrap_or(1252),
            "mac" => self.page = 10000,
            "pc" => self.page = 437,
            "pca" => self.page = 850,
            "deff" => {
                self.default_font = number.unwrap_or(0);
                self.state.font = self.default_font;
            }
            "f" => {
                self.settle();
                self.state.font = number.unwrap_or(0);
            }
            "fcharset" => {
                if let Some(page) = number.and_then(page_of_charset).filter(|_| self.state.fonts) {
                    self.fonts.insert(self.state.font, page);
                }
            }
            "plain" => {
                self.settle();
                self.state.font = self.default_font;
                self.state.invisible = false;
            }
            "v" => self.state.invisible = number != Some(0),
            "uc" => self.state.fallback = number.and_then(|count| usize::try_from(count).ok()),
            "u" => self.unicode(number.unwrap_or(0)),
            "bin" => {
                let length = number.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
                self.at = self.at.saturating_add(length).min(self.input.len());
            }
            "upr" | "ud" | "shppict" | "nonshppict" | "shptxt" | "shp" | "shpinst" | "footnote" | "fldrslt" => {
                // The group of `\ud` repeats in Unicode the text of the group before it. So `\ud` counts as an unknown
                // word, and its group is skipped. The other words are known, so their groups are read. Pictures in
                // these groups are hidden by `\pict`.
                return word != "ud";
            }
            _ => return false,
        }
        true
    }

    /// Handles control words for separators and characters. Returns whether `word` is one of them.
    fn separator(&mut self, word: &str) -> bool {
        match word {
            "par" | "sect" | "page" | "row" | "nestrow" => self.paragraph(),
            "line" => self.push('\n'),
            "tab" | "cell" | "nestcell" => self.push('\t'),
            "emdash" => self.push('\u{2014}'),
            "endash" => self.push('\u{2013}'),
            "bullet" => self.push('\u{2022}'),
            "lquote" => self.push('\u{2018}'),
            "rquote" => self.push('\u{2019}'),
            "ldblquote" => self.push('\u{201c}'),
            "rdblquote" => self.push('\u{201d}'),
            "emspace" | "enspace" | "qmspace" => self.push(' '),
            _ => return false,
        }
        true
    }

    fn unicode(&mut self, number: i32) {
        self.settle();
        // The number is a signed 16-bit value.
        let unit = (number & 0xffff) as u16;
        match (self.high.take(), unit) {
            (_, 0xd800..=0xdbff) => self.high = Some(unit),
            (Some(high), 0xdc00..=0xdfff) => {
                let decoded = char::decode_utf16([high, unit]).next();
                self.push_shown(decoded.and_then(Result::ok).unwrap_or('\u{fffd}'));
            }
            (_, other) => self.push_shown(char::from_u32(u32::from(other)).unwrap_or('\u{fffd}')),
        }
        self.skip = self.state.fallback.unwrap_or(1);
    }

    /// Adds a byte of text in the current code page, unless it is a fallback character or hidden.
    fn byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.is_shown() {
            self.pending.push(byte);
        }
    }

    fn push(&mut self, character: char) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.settle();
        self.push_shown(character);
    }

    fn push_shown(&mut self, character: char) {
        if self.is_shown() {
            self.text.push(character);
        }
    }

    fn is_shown(&self) -> bool {
        !self.state.hidden && !self.state.invisible
    }

    /// Decodes the pending bytes. Must be called before the code page changes.
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let page = self.fonts.get(&self.state.font).copied().unwrap_or(self.page);
        let bytes = std::mem::take(&mut self.pending);
        self.text.push_str(&decode_code_page(&bytes, page));
    }

    fn paragraph(&mut self) {
        self.settle();
        if self.state.hidden {
            return;
        }
        let text = std::mem::take(&mut self.text);
        self.blocks.paragraph(text.trim_end_matches('\t'));
    }
}

/// Returns the code page of a font's character set. `None` if the character set is not known.
fn page_of_charset(charset: i32) -> Option<u16> {
    Some(match charset {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rtf: &[u8]) -> Vec<String> {
        let blocks = read(rtf).unwrap();
        let text = |block: Block| match block {
            Block::Paragraph(text) => text,
            other => panic!("{other:?}"),
        };
        blocks.into_iter().map(text).collect()
    }

    #[test]
    fn text_without_what_formats_it() {
        let rtf = br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\*\generator Word;}{\info{\title T}}\f0\fs24 Caf\'e9 {\b bold}\par next\line line\par}";
        assert_eq!(lines(rtf), ["Caf\u{e9} bold", "next\nline"]);
    }

    #[test]
    fn tables_unicode_and_code_pages_of_fonts() {
        let rtf = br"{\rtf1\ansi{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset238 B;}}\trowd\cellx1\intbl a\cell b\cell\row \pard\f1\'b9\f0\'b9 \u8364?\u-10179?\u-9166? x\par}";
        assert_eq!(lines(rtf), ["a\tb", "\u{105}\u{b9} \u{20ac}\u{1f432} x"]);
        assert_eq!(lines(br"{\rtf1 \uc0\u233 t\uc2 \u233 xxt}"), ["\u{e9}t\u{e9}t"]);
        assert_eq!(lines(br"{\rtf1 a{\v hidden}b{\*\unknown c}d \{\\\}}"), ["abd {\\}"]);
    }

    #[test]
    fn damaged_files_end() {
        assert!(read(b"no rtf").is_none());
        assert_eq!(lines(b"{\\rtf1 open {\\b bold"), ["open bold"]);
        assert_eq!(lines(b"{\\rtf1 \\'"), Vec::<String>::new());
        let deep = [
            b"{\\rtf1 ".to_vec(),
            b"{".repeat(100_000),
            b"x".to_vec(),
            b"}".repeat(100_000),
        ]
        .concat();
        assert_eq!(lines(&deep), ["x"]);
        assert_eq!(lines(br"{\rtf1 a\bin4 }}}}b}"), ["ab"]);
    }
}
