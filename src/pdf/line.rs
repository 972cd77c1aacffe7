//! Turns texts into lines. parley does the shaping, the bidirectional order and the line breaks.

use std::sync::Arc;

use krilla::text::{GlyphId, KrillaGlyph};
use parley::style::{LineHeight, OverflowWrap, StyleProperty};
use parley::{Layout, LayoutContext};
use quick_cache::unsync::Cache;

use super::PdfError;
use super::font::{Face, Fonts};

/// The character that is drawn in place of a character without a glyph.
const BOX: &str = "\u{25a1}";

/// The maximum number of bytes that are shaped at one time. Shaping needs more than a hundred times as much memory.
const LONGEST: usize = 16 << 10;
/// The maximum number of texts whose lines are cached. Table cells repeat the same texts, and shaping is most of the
/// work.
const KEPT: usize = 4_096;
/// The maximum number of bytes of a cached text.
const KEPT_BYTES: usize = 256;

/// The style of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    /// The size in points.
    pub(super) size: f32,
    pub(super) face: Face,
    /// The grey value, from 0 (black) to 255 (white).
    pub(super) grey: u8,
}

/// A line of a text. Clones share the glyphs.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) text: Arc<str>,
    pub(super) runs: Arc<[Run]>,
    /// The height in points, with the space between lines.
    pub(super) height: f32,
    /// The distance from the line's top to its baseline, in points.
    pub(super) baseline: f32,
    pub(super) grey: u8,
}

/// Consecutive glyphs of one font.
#[derive(Debug)]
pub(super) struct Run {
    /// The distance from the line's left edge, in points.
    pub(super) x: f32,
    pub(super) face: Face,
    pub(super) size: f32,
    pub(super) glyphs: Vec<KrillaGlyph>,
}

impl Run {
    /// Returns the run's width, in points.
    pub(super) fn width(&self) -> f32 {
        self.glyphs.iter().map(|glyph| glyph.x_advance * self.size).sum()
    }
}

/// The glyph that is drawn in place of a missing one, for each face: its id, and its advance at size 1.
#[derive(Debug, Clone, Copy)]
struct Substitute {
    regular: (u32, f32),
    bold: (u32, f32),
    mono: (u32, f32),
}

/// The cache key: a text, its style, and the width of its column. The size and the width are stored as bits, because an
/// `f32` cannot be part of a key.
type Setting = (Arc<str>, u32, Face, u8, u32);

/// The cached lines of a text.
#[derive(Debug, Clone)]
struct Set {
    lines: Arc<[Line]>,
    without_glyph: u64,
}

/// Shapes the texts of a document. One setter is used for all of them, so that they share its caches.
pub(super) struct Setter {
    pub(super) fonts: Fonts,
    layouts: LayoutContext<()>,
    missing: Substitute,
    known: Cache<Setting, Set>,
    /// The number of characters without a glyph in the texts so far.
    pub(super) without_glyph: u64,
}

impl Setter {
    pub(super) fn new() -> Result<Self, PdfError> {
        let mut setter = Self {
            fonts: Fonts::new()?,
            layouts: LayoutContext::new(),
            missing: Substitute {
                regular: (0, 0.6),
                bold: (0, 0.6),
                mono: (0, 0.6),
            },
            known: Cache::new(KEPT),
            without_glyph: 0,
        };
        setter.missing = Substitute {
            regular: setter.boxed(Face::Regular)?,
            bold: setter.boxed(Face::Bold)?,
            mono: setter.boxed(Face::Mono)?,
        };
        Ok(setter)
    }

    fn boxed(&mut self, face: Face) -> Result<(u32, f32), PdfError> {
        let style = Style {
            size: 1.0,
            face,
            grey: 0,
        };
        let layout = self.layout(BOX, style, None);
        let mut glyphs = layout
            .lines()
            .flat_map(|line| line.runs().collect::<Vec<_>>())
            .flat_map(|run| run.clusters().flat_map(|c| c.glyphs()).collect::<Vec<_>>());
        let glyph = glyphs.next().filter(|glyph| glyph.id != 0).ok_or(PdfError::Fonts)?;
        Ok((glyph.id, glyph.advance))
    }

    /// Returns the lines of a text in a column that is `width` points wide. A blank text has no lines.
    pub(super) fn lines(&mut self, text: &str, style: Style, width: f32) -> Vec<Line> {
        let text: Arc<str> = printable(text).into();
        if text.trim().is_empty() {
            return Vec::new();
        }
        if text.len() > KEPT_BYTES {
            return self.set(text, style, width);
        }
        let setting: Setting = (
            text.clone(),
            style.size.to_bits(),
            style.face,
            style.grey,
            width.to_bits(),
        );
        if let Some(set) = self.known.get(&setting) {
            self.without_glyph += set.without_glyph;
            return set.lines.to_vec();
        }
        let before = self.without_glyph;
        let lines = self.set(text, style, width);
        let set = Set {
            lines: lines.as_slice().into(),
            without_glyph: self.without_glyph - before,
        };
        self.known.insert(setting, set);
        lines
    }

    fn set(&mut self, text: Arc<str>, style: Style, width: f32) -> Vec<Line> {
        let layout = self.layout(&text, style, Some(width));
        let mut lines = Vec::with_capacity(layout.len());
        let mut top = 0.0;
        for line in layout.lines() {
            let metrics = line.metrics();
            let mut x = metrics.offset;
            let mut runs = Vec::new();
            for run in line.runs() {
                let face = self.fonts.face_of(run.font());
                let (glyphs, width) = self.glyphs(&run, face);
                runs.push(Run {
                    x,
                    face,
                    size: run.font_size(),
                    glyphs,
                });
                x += width;
            }
            lines.push(Line {
                text: text.clone(),
                runs: runs.into(),
                height: metrics.line_height,
                baseline: metrics.baseline - top,
                grey: style.grey,
            });
            top += metrics.line_height;
        }
        lines
    }

    fn layout(&mut self, text: &str, style: Style, width: Option<f32>) -> Layout<()> {
        let mut builder = self.layouts.ranged_builder(&mut self.fonts.context, text, 1.0, false);
        builder.push_default(StyleProperty::FontFamily(style.face.families()));
        builder.push_default(StyleProperty::FontWeight(style.face.weight()));
        builder.push_default(StyleProperty::FontSize(style.size));
        builder.push_default(StyleProperty::LineHeight(LineHeight::FontSizeRelative(1.3)));
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::Anywhere));
        let mut layout = builder.build(text);
        layout.break_all_lines(width);
        layout
    }

    /// Returns the glyphs of a run in the order in which they are drawn, and the run's width in points.
    fn glyphs(&mut self, run: &parley::Run<'_, ()>, face: Face) -> (Vec<KrillaGlyph>, f32) {
        let size = run.font_size();
        let mut glyphs: Vec<KrillaGlyph> = Vec::new();
        let mut width = 0.0;
        for cluster in run.visual_clusters() {
            if cluster.is_ligature_continuation() {
                if let Some(glyph) = glyphs.last_mut() {
                    glyph.text_range.end = glyph.text_range.end.max(cluster.text_range().end);
                    glyph.text_range.start = glyph.text_range.start.min(cluster.text_range().start);
                }
                continue;
            }
            for glyph in cluster.glyphs() {
                let (id, advance) = if glyph.id == 0 {
                    self.without_glyph += 1;
                    let (id, advance) = self.missing_for(face);
                    (id, advance * size)
                } else {
                    (glyph.id, glyph.advance)
                };
                glyphs.push(KrillaGlyph::new(
                    GlyphId::new(id),
                    advance / size,
                    glyph.x / size,
                    glyph.y / size,
                    0.0,
                    cluster.text_range(),
                    None,
                ));
                width += advance;
            }
        }
        (glyphs, width)
    }

    fn missing_for(&self, face: Face) -> (u32, f32) {
        match face {
            Face::Regular => self.missing.regular,
            Face::Bold => self.missing.bold,
            Face::Mono => self.missing.mono,
        }
    }
}

/// Splits a text into the first piece to shape and the rest. A long text is split at a line break. If it has none, it
/// is split between words. If it has no spaces either, it is split between letters.
pub(super) fn piece(text: &str) -> (&str, &str) {
    if text.len() <= LONGEST {
        return (text, "");
    }
    let first = &text[..text.floor_char_boundary(LONGEST)];
    let end = first.rfind('\n').or_else(|| first.rfind(' ')).filter(|at| *at > 0);
    match end {
        // The separator is left out, because each piece begins a new line.
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (first, &text[first.len()..]),
    }
}

/// Splits a text into all its pieces (see `piece`).
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let (first, behind) = piece(rest?);
        rest = Some(behind).filter(|behind| !behind.is_empty());
        Some(first)
    })
}

/// Removes characters that a PDF's text may not contain: control characters, and characters that PDF/UA forbids. A tab
/// becomes four spaces.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push('\n'),
            '\t' => out.push_str("    "),
            // These characters separate lines, too: form feed, vertical tab, and Unicode's next line, line separator
            // and paragraph separator.
            '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {}
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style {
        size: 10.0,
        face: Face::Regular,
        grey: 0,
    };

    #[test]
    fn breaks_lines_at_words_and_inside_of_long_ones() {
        let mut setter = Setter::new().unwrap();
        let lines = setter.lines("one two three four five six", PLAIN, 60.0);
        assert!(lines.len() > 1, "{}", lines.len());
        let long = "x".repeat(400);
        let lines = setter.lines(&long, PLAIN, 100.0);
        assert!(lines.len() > 10, "{}", lines.len());
        for line in &lines {
            let width: f32 = line
                .runs
                .iter()
                .flat_map(|r| &r.glyphs)
                .map(|g| g.x_advance * 10.0)
                .sum();
            assert!(width <= 100.0, "{width}");
        }
    }

    #[test]
    fn a_text_is_set_the_same_again_in_its_own_style_and_width() {
        let mut setter = Setter::new().unwrap();
        let large = Style { size: 20.0, ..PLAIN };
        let bold = Style {
            face: Face::Bold,
            ..PLAIN
        };
        for (style, width) in [(PLAIN, 60.0), (PLAIN, 200.0), (large, 60.0), (bold, 60.0)] {
            let first = format!("{:?}", setter.lines("one two three four", style, width));
            let again = format!("{:?}", setter.lines("one two three four", style, width));
            let alone = format!("{:?}", Setter::new().unwrap().lines("one two three four", style, width));
            assert_eq!((&again, &alone), (&first, &first));
        }
    }

    #[test]
    fn long_texts_are_cut_where_a_line_or_a_word_ends() {
        let word = "x".repeat(LONGEST - 1);
        let cut = |text: &str| pieces(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cut(""), [""; 0]);
        assert_eq!(cut("a b\nc"), ["a b\nc"]);
        assert_eq!(cut(&format!("{word}\nb")), [&word, "b"]);
        assert_eq!(cut(&format!("a b\n{word} c")), ["a b", &word, "c"]);
        // Text without breaks is split between letters, and nothing is lost.
        let endless = "\u{e9}".repeat(LONGEST);
        let cut = cut(&endless);
        assert!(cut.len() == 2 && cut.concat() == endless);
    }

    #[test]
    fn a_character_without_a_glyph_is_a_box_over_its_text() {
        let mut setter = Setter::new().unwrap();
        let lines = setter.lines("a\u{1f48a}b", PLAIN, 100.0);
        // Each occurrence of the character counts.
        assert_eq!(setter.without_glyph, 1);
        setter.lines("a\u{1f48a}b", PLAIN, 100.0);
        assert_eq!(setter.without_glyph, 2);
        let glyphs: Vec<_> = lines[0].runs.iter().flat_map(|run| &run.glyphs).collect();
        let boxed = glyphs
            .iter()
            .find(|glyph| glyph.glyph_id.to_u32() == setter.missing.regular.0)
            .unwrap();
        assert_eq!(&lines[0].text[boxed.text_range.clone()], "\u{1f48a}");
        assert!(glyphs.iter().all(|glyph| glyph.glyph_id.to_u32() != 0));
    }

    #[test]
    fn an_empty_text_has_no_lines_and_controls_are_left_out() {
        let mut setter = Setter::new().unwrap();
        assert!(setter.lines("", PLAIN, 100.0).is_empty());
        assert!(setter.lines(" \u{0} ", PLAIN, 100.0).is_empty());
        assert_eq!(setter.lines("a\nb", PLAIN, 100.0).len(), 2);
        assert_eq!(printable("a\u{0}\tb\u{7}\u{feff}"), "a    b");
    }
}
