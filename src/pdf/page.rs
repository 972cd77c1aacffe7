//! Pages: the position of the next line, and the header and footer of each page. The content of a page is written when
//! the page is full.

use krilla::Document as Writer;
use krilla::color::luma;
use krilla::geom::{PathBuilder, Point, Rect, Size, Transform};
use krilla::image::Image;
use krilla::num::NormalizedF32;
use krilla::page::PageSettings;
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::tagging::{Artifact, ArtifactType, ContentTag, SpanTag};

use super::font::{Face, Fonts};
use super::line::{Line, Setter, Style};
use super::structure::{Piece, Structure};

/// US Letter, in points.
const PAGE: (f32, f32) = (612.0, 792.0);
const MARGIN: f32 = 54.0;
const HEAD: f32 = 30.0;
/// The left edge of a page's text, in points.
pub(super) const LEFT: f32 = MARGIN;
/// The width of a page's text, in points.
pub(super) const WIDTH: f32 = PAGE.0 - 2.0 * MARGIN;
/// The height of a page's text, in points.
pub(super) const HEIGHT: f32 = PAGE.1 - 2.0 * MARGIN;

const SMALL: Style = Style {
    size: 7.5,
    face: Face::Regular,
    grey: 90,
};

/// An element of a page. It is drawn when the page is written.
enum Mark {
    Line {
        x: f32,
        y: f32,
        line: Line,
        role: Role,
    },
    Rule {
        x: f32,
        y: f32,
        width: f32,
    },
    Shade {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
    },
    Picture {
        y: f32,
        size: (f32, f32),
        image: Image,
        piece: Piece,
    },
}

/// The role of a line in the structure.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// Content of the document, which is this piece of the structure.
    Content(Piece),
    /// Repeated or decorative content, which is left out of the structure.
    Repeated,
    Head,
    Foot,
}

/// The pages of a document.
pub(super) struct Pages {
    writer: Writer,
    marks: Vec<Mark>,
    /// The distance from the page's top to the next line, in points.
    y: f32,
    written: usize,
    running_head: String,
}

impl Pages {
    pub(super) fn new(writer: Writer, running_head: String) -> Self {
        Self {
            writer,
            marks: Vec::new(),
            y: MARGIN,
            written: 0,
            running_head,
        }
    }

    /// Returns the index of the current page, from 0.
    pub(super) fn current(&self) -> usize {
        self.written
    }

    /// Returns the distance from the page's top to the next line, in points.
    pub(super) fn y(&self) -> f32 {
        self.y
    }

    /// Returns the height left on the page, in points.
    pub(super) fn left(&self) -> f32 {
        PAGE.1 - MARGIN - self.y
    }

    /// Whether the page is empty.
    pub(super) fn is_blank(&self) -> bool {
        self.marks.is_empty()
    }

    /// Adds a vertical space, unless the next line is at the top of the page.
    pub(super) fn space(&mut self, height: f32) {
        if self.y > MARGIN {
            self.y += height;
        }
    }

    /// Moves down by a height.
    pub(super) fn advance(&mut self, height: f32) {
        self.y += height;
    }

    /// Adds a line below the existing content.
    pub(super) fn line(&mut self, x: f32, line: Line, piece: Piece) {
        let height = line.height;
        self.line_at(x, self.y, line, Role::Content(piece));
        self.y += height;
    }

    /// Draws a line at a position on the page.
    pub(super) fn line_at(&mut self, x: f32, y: f32, line: Line, role: Role) {
        self.marks.push(Mark::Line { x, y, line, role });
    }

    /// Draws a horizontal rule of this width.
    pub(super) fn rule(&mut self, x: f32, y: f32, width: f32) {
        self.marks.push(Mark::Rule { x, y, width });
    }

    /// Shades an area. Later elements are drawn on top of it.
    pub(super) fn shade(&mut self, x: f32, y: f32, width: f32, height: f32) {
        self.marks.push(Mark::Shade { x, y, width, height });
    }

    /// Adds a picture below the existing content.
    pub(super) fn picture(&mut self, image: Image, size: (f32, f32), piece: Piece) {
        self.marks.push(Mark::Picture {
            y: self.y,
            size,
            image,
            piece,
        });
        self.y += size.1;
    }

    /// Writes the page and begins the next one.
    pub(super) fn turn(&mut self, setter: &mut Setter, structure: &mut Structure) {
        self.furnish(setter);
        let marks = std::mem::take(&mut self.marks);
        let settings = PageSettings::new(size(PAGE.0, PAGE.1));
        let mut page = self.writer.start_page_with(settings);
        let mut surface = page.surface();
        for mark in &marks {
            draw(&mut surface, mark, &setter.fonts, structure);
        }
        surface.finish();
        page.finish();
        self.written += 1;
        self.y = MARGIN;
    }

    /// Draws the header and the footer of the page.
    fn furnish(&mut self, setter: &mut Setter) {
        let head = setter.lines(&self.running_head, SMALL, WIDTH);
        if let Some(line) = head.into_iter().next() {
            self.line_at(LEFT, HEAD, line, Role::Head);
        }
        let number = format!("Page {}", self.written + 1);
        if let Some(line) = setter.lines(&number, SMALL, WIDTH).into_iter().next() {
            let width: f32 = line.runs.iter().map(super::line::Run::width).sum();
            self.line_at(LEFT + WIDTH - width, PAGE.1 - HEAD - 8.0, line, Role::Foot);
        }
    }

    /// Writes the last page and returns the writer.
    pub(super) fn finish(mut self, setter: &mut Setter, structure: &mut Structure) -> Writer {
        if !self.is_blank() || self.written == 0 {
            self.turn(setter, structure);
        }
        self.writer
    }
}

fn size(width: f32, height: f32) -> Size {
    // Both numbers are positive, so this does not fail.
    Size::from_wh(width.max(0.1), height.max(0.1)).unwrap_or_else(|| {
        let one = Size::from_wh(1.0, 1.0);
        one.unwrap_or_else(|| unreachable!("one by one is a size"))
    })
}

fn draw(surface: &mut Surface<'_>, mark: &Mark, fonts: &Fonts, structure: &mut Structure) {
    match mark {
        Mark::Line { x, y, line, role } => {
            let identifier = surface.start_tagged(content_tag(*role));
            draw_line(surface, *x, *y, line, fonts);
            surface.end_tagged();
            if let Role::Content(piece) = role {
                structure.drawn(*piece, identifier);
            }
        }
        Mark::Rule { x, y, width } => rectangle(surface, (*x, *y, *width, 0.5), 190),
        Mark::Shade { x, y, width, height } => rectangle(surface, (*x, *y, *width, *height), 238),
        Mark::Picture {
            y,
            size: extent,
            image,
            piece,
        } => {
            let identifier = surface.start_tagged(ContentTag::Other);
            surface.push_transform(&Transform::from_translate(LEFT, *y));
            surface.draw_image(image.clone(), size(extent.0, extent.1));
            surface.pop();
            surface.end_tagged();
            structure.drawn(*piece, identifier);
        }
    }
}

fn content_tag(role: Role) -> ContentTag<'static> {
    let artifact = |kind| ContentTag::Artifact(Artifact::with_kind(kind));
    match role {
        Role::Content(_) => ContentTag::Span(SpanTag::empty()),
        Role::Repeated => artifact(ArtifactType::PaginationOther),
        Role::Head => artifact(ArtifactType::Header),
        Role::Foot => artifact(ArtifactType::Footer),
    }
}

fn draw_line(surface: &mut Surface<'_>, x: f32, y: f32, line: &Line, fonts: &Fonts) {
    surface.set_fill(Some(fill(line.grey)));
    for run in line.runs.iter() {
        surface.draw_glyphs(
            Point::from_xy(x + run.x, y + line.baseline),
            &run.glyphs,
            fonts.font(run.face),
            &line.text,
            run.size,
            false,
        );
    }
}

fn rectangle(surface: &mut Surface<'_>, (x, y, width, height): (f32, f32, f32, f32), grey: u8) {
    let Some(rect) = Rect::from_xywh(x, y, width, height) else {
        return;
    };
    let mut path = PathBuilder::new();
    path.push_rect(rect);
    let Some(path) = path.finish() else {
        return;
    };
    surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)));
    surface.set_fill(Some(fill(grey)));
    surface.draw_path(&path);
    surface.end_tagged();
}

fn fill(grey: u8) -> Fill {
    Fill {
        paint: luma::Color::new(grey).into(),
        opacity: NormalizedF32::ONE,
        rule: krilla::paint::FillRule::default(),
    }
}
