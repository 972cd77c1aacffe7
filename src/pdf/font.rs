//! The built-in fonts: DejaVu Sans, regular and bold (`fonts/LICENSE.txt`).
//!
//! They have Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew and Arabic letters. The machine's fonts are not used,
//! so a document looks the same on every machine.

use std::borrow::Cow;
use std::sync::Arc;

use krilla::text::Font;
use parley::fontique::{Blob, Collection, CollectionOptions, SourceCache};
use parley::style::{FontFamily, FontFamilyName, FontWeight};
use parley::{FontContext, FontData};

use super::PdfError;

const REGULAR: &[u8] = include_bytes!("fonts/DejaVuSans.ttf");
const BOLD: &[u8] = include_bytes!("fonts/DejaVuSans-Bold.ttf");
const FAMILY: &str = "DejaVu Sans";

/// One of the two weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Weight {
    Regular,
    Bold,
}

impl Weight {
    /// The weight in the shaper's type.
    pub(super) fn style(self) -> FontWeight {
        match self {
            Self::Regular => FontWeight::NORMAL,
            Self::Bold => FontWeight::BOLD,
        }
    }
}

/// Both weights, for shaping and for the file.
pub(super) struct Fonts {
    pub(super) context: FontContext,
    regular: Font,
    bold: Font,
    bold_blob: u64,
}

impl Fonts {
    pub(super) fn new() -> Result<Self, PdfError> {
        let mut collection = Collection::new(CollectionOptions {
            shared: false,
            system_fonts: false,
        });
        let regular_blob = Blob::new(Arc::new(REGULAR));
        let bold_blob = Blob::new(Arc::new(BOLD));
        let bold_id = bold_blob.id();
        collection.register_fonts(regular_blob, None);
        collection.register_fonts(bold_blob, None);
        collection.family_id(FAMILY).ok_or(PdfError::Fonts)?;
        let context = FontContext {
            collection,
            source_cache: SourceCache::default(),
        };
        let font = |bytes: &'static [u8]| Font::new(bytes.into(), 0).ok_or(PdfError::Fonts);
        Ok(Self {
            context,
            regular: font(REGULAR)?,
            bold: font(BOLD)?,
            bold_blob: bold_id,
        })
    }

    /// The name of the family in the shaper's type.
    pub(super) fn family() -> FontFamily<'static> {
        FontFamily::Single(FontFamilyName::Named(Cow::Borrowed(FAMILY)))
    }

    /// The weight of a shaped run.
    pub(super) fn weight_of(&self, data: &FontData) -> Weight {
        if data.data.id() == self.bold_blob {
            Weight::Bold
        } else {
            Weight::Regular
        }
    }

    /// The font to embed in the file.
    pub(super) fn font(&self, weight: Weight) -> Font {
        match weight {
            Weight::Regular => self.regular.clone(),
            Weight::Bold => self.bold.clone(),
        }
    }
}
