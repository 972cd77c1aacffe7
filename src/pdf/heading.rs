//! Headings, and the outline that lists them. A heading waits until the content below it is known, so that both are on
//! one page.

use krilla::destination::XyzDestination;
use krilla::geom::Point;
use krilla::outline::{Outline, OutlineNode};

use super::document::Document;
use super::font::Face;
use super::line::{Line, Style, piece};
use super::page::{HEIGHT, LEFT, WIDTH};
use super::structure::Kind;

/// The space below a heading, in points.
const BELOW: f32 = 3.0;
/// The deepest level of headings in the outline.
const DEEPEST: u8 = 4;

/// The maximum number of headings that wait. Without a limit, a document with any number of headings and no content
/// would keep all of them in memory.
const MAX_WAITING: usize = 8;

/// The headings of a document.
#[derive(Default)]
pub(super) struct Headings {
    placed: Vec<Heading>,
    /// The last headings, in order. They are on no page yet, because there is no content below them so far.
    waiting: Vec<Waiting>,
}

/// A heading as an entry of the outline.
struct Heading {
    level: u8,
    text: String,
    page: usize,
    y: f32,
}

/// A heading that is not on a page yet.
struct Waiting {
    level: u8,
    text: String,
    lines: Vec<Line>,
    /// The space above the heading, unless it is at the top of a page.
    above: f32,
}

impl Waiting {
    fn height(&self) -> f32 {
        let lines: f32 = self.lines.iter().map(|line| line.height).sum();
        self.above + lines + BELOW
    }
}

impl Document {
    /// Writes a heading. A `level` of 0 counts as 1. The heading is on one page with the beginning of the content below
    /// it.
    pub fn heading(&mut self, level: u8, text: &str) {
        let level = level.max(1);
        let style = Style {
            size: match level {
                1 => 18.0,
                2 => 14.0,
                3 => 11.5,
                _ => 10.0,
            },
            face: Face::Bold,
            grey: 0,
        };
        let (text, rest) = piece(text);
        let lines = self.setter.lines(text, style, WIDTH);
        if lines.is_empty() {
            return;
        }
        if self.headings.waiting.len() >= MAX_WAITING {
            self.settle(0.0);
        }
        self.headings.waiting.push(Waiting {
            level,
            text: text.to_owned(),
            lines,
            above: style.size,
        });
        if !rest.is_empty() {
            self.paragraph(rest);
        }
    }

    /// Places the waiting headings on a page that also has `needed` points for the content below them. Returns whether
    /// any headings waited. Must be called before any content is added.
    pub(super) fn settle(&mut self, needed: f32) -> bool {
        let waiting = std::mem::take(&mut self.headings.waiting);
        if waiting.is_empty() {
            return false;
        }
        let height: f32 = waiting.iter().map(Waiting::height).sum();
        if self.pages.left() < (height + needed).min(HEIGHT) && !self.pages.is_blank() {
            self.turn();
        }
        for heading in waiting {
            self.pages.space(heading.above);
            if self.pages.left() < heading.lines[0].height {
                self.turn();
            }
            self.headings.placed.push(Heading {
                level: heading.level,
                text: heading.text.clone(),
                page: self.pages.current(),
                y: self.pages.y(),
            });
            self.structure.open(Kind::Heading(heading.level, heading.text));
            self.place(heading.lines, 0.0);
            self.structure.close();
            self.pages.advance(BELOW);
        }
        true
    }
}

impl Headings {
    /// Builds the outline. The parent of each heading is the last heading before it that has a smaller level.
    pub(super) fn outline(mut self, title: &str) -> Outline {
        let mut outline = Outline::new();
        let mut open: Vec<(u8, OutlineNode)> = Vec::new();
        self.placed.retain(|heading| heading.level <= DEEPEST);
        if self.placed.is_empty() {
            // PDF/UA requires an outline in each document, so add an entry with the document's title.
            let destination = XyzDestination::new(0, Point::from_xy(LEFT, 0.0));
            outline.push_child(OutlineNode::new(title.to_owned(), destination));
        }
        for heading in self.placed {
            close(&mut outline, &mut open, heading.level);
            let destination = XyzDestination::new(heading.page, Point::from_xy(LEFT, heading.y));
            open.push((heading.level, OutlineNode::new(heading.text, destination)));
        }
        close(&mut outline, &mut open, 0);
        outline
    }
}

/// Ends the open entries of `level` and of all deeper levels: adds each of them to its parent, or to `outline` if it
/// has no parent.
fn close(outline: &mut Outline, open: &mut Vec<(u8, OutlineNode)>, level: u8) {
    while open.last().is_some_and(|(deepest, _)| *deepest >= level) {
        let Some((_, node)) = open.pop() else { return };
        match open.last_mut() {
            Some((_, parent)) => parent.push_child(node),
            None => outline.push_child(node),
        }
    }
}
