//! Documents as PDF: headings, paragraphs, tables and lists become tagged pages (PDF/UA-1).
//!
//! This module decides how a page looks, where lines and pages break, and how the file marks its structure. It also
//! reads attached documents (PDF, HTML, RTF, C-CDA, pictures). It does not know FHIR: a caller adds content block by
//! block.
//!
//! Invariant: every printable character of a text is in the file. A character without a glyph is drawn as a box, and
//! the box carries the character as its text.

mod attachment;
mod document;
mod error;
mod font;
mod heading;
mod line;
mod page;
mod properties;
mod stitch;
mod stop;
mod structure;
mod table;

pub use attachment::{Attachment, Outcome};
pub use document::Document;
pub use error::PdfError;
pub use properties::Properties;
pub use stop::Stop;
pub use table::Column;
pub(crate) use table::SAMPLE;
