//! The built-in fonts: DejaVu Sans, regular and bold, and a part of DejaVu Sans Mono (`fonts/LICENSE.txt`).
//!
//! The fonts have Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew and Arabic letters. The monospaced face has only
//! the first three; it takes other letters from the regular face. The machine's fonts are not used, so a document looks
//! the same on every machine.

use std::borrow::Cow;
use std::sync::Arc;

use krilla::text::Font;
use parley::fontique::{Blob, Collection, CollectionOptions, SourceCache};
use parley::style::{FontFamily, FontFamilyName, FontWeight};
use parley::{FontContext, FontData};

use super::PdfError;

const SANS: FontFamilyName<'static> = FontFamilyName::Named(Cow::Borrowed("DejaVu Sans"));
const MONO: FontFamilyName<'static> = FontFamilyName::Named(Cow::Borrowed("DejaVu Sans Mono"));
const MONO_ELSE_SANS: &[FontFamilyName<'static>] = &[MONO, SANS];

/// One of the fonts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Face {
    Regular,
    Bold,
    /// A monospaced face.
    Mono,
}

impl Face {
    const ALL: [Self; 3] = [Self::Regular, Self::Bold, Self::Mono];

    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Regular => include_bytes!("fonts/DejaVuSans.ttf"),
            Self::Bold => include_bytes!("fonts/DejaVuSans-Bold.ttf"),
            Self::Mono => include_bytes!("fonts/DejaVuSansMono.ttf"),
        }
    }

    /// Returns the weight in the shaper's type.
    pub(super) fn weight(self) -> FontWeight {
        match self {
            Self::Regular | Self::Mono => FontWeight::NORMAL,
            Self::Bold => FontWeight::BOLD,
        }
    }

    /// Returns the families in the shaper's type. The shaper takes each character from the first family that has it.
    pub(super) fn families(self) -> FontFamily<'static> {
        match self {
            Self::Regular | Self::Bold => FontFamily::Single(SANS),
            Self::Mono => FontFamily::List(Cow::Borrowed(MONO_ELSE_SANS)),
        }
    }
}

/// All faces, for shaping and for the file.
pub(super) struct Fonts {
    pub(super) context: FontContext,
    /// For each face, in the order of [`Face::ALL`]: the shaper's id of the font, and the font to embed.
    faces: Vec<(u64, Font)>,
}

impl Fonts {
    pub(super) fn new() -> Result<Self, PdfError> {
        let mut collection = Collection::new(CollectionOptions {
            shared: false,
            system_fonts: false,
        });
        let mut faces = Vec::new();
        for face in Face::ALL {
            let blob = Blob::new(Arc::new(face.bytes()));
            let font = Font::new(face.bytes().into(), 0).ok_or(PdfError::Fonts)?;
            faces.push((blob.id(), font));
            collection.register_fonts(blob, None);
        }
        for family in [SANS, MONO] {
            let FontFamilyName::Named(name) = family else { continue };
            collection.family_id(&name).ok_or(PdfError::Fonts)?;
        }
        let context = FontContext {
            collection,
            source_cache: SourceCache::default(),
        };
        Ok(Self { context, faces })
    }

    /// Returns the face of a shaped run. `data` is the font that the shaper chose for the run.
    pub(super) fn face_of(&self, data: &FontData) -> Face {
        let mut faces = Face::ALL.into_iter().zip(&self.faces);
        let found = faces.find(|(_, (blob, _))| *blob == data.data.id());
        found.map_or(Face::Regular, |(face, _)| face)
    }

    /// Returns the font to embed in the file.
    pub(super) fn font(&self, face: Face) -> Font {
        self.faces[face as usize].1.clone()
    }
}
