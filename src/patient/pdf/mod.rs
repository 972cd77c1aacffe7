//! `$pdf`: a patient's records as pages to print and carry, one part for each source, or one file for each in a ZIP
//! archive.
//!
//! Decides which section a resource stands in, which columns a section has, and where attached documents go. How pages
//! look is the room `pdf`'s to decide. Every resource stands somewhere: what has no section of its own is among the
//! other records, element by element.

mod attached;
mod build;
mod cells;
mod held;
mod other;
mod resource;
mod sections;
mod structured;
mod summary;

pub use attached::{Attached, Documents, FetchError, addresses};
pub use build::{Export, Part, Source, SourceKind, archive, document};
pub use held::{Held, binary_id};
pub use summary::rendering;

pub use crate::pdf::{PdfError, Stop};
